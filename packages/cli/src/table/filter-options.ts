import {
  aboutFilter,
  type BoundName,
  type EventFilter,
  type FacetName,
  type FilterJson,
  facetNames,
  filterNames,
  paramOf,
  parseListQuery,
  problemsText,
} from '@indelible/protocol';
import type { Command } from 'commander';
import { UsageError } from '../io.ts';

export type CriteriaOptions = { [bound in BoundName]?: string } & {
  [facet in FacetName]?: string[];
};

/** Adds the options of the list's filter: `--resource-id <value>` for `resourceId`. */
export function withCriteria(command: Command): Command {
  for (const name of filterNames) {
    const option = optionOf(paramOf(name));
    if (facetNames.some((facet) => facet === name)) {
      command.option(`${option} <value>`, `${aboutFilter(name)}; may be repeated`, collected);
    } else command.option(`${option} <time>`, aboutFilter(name));
  }
  return command;
}

const optionOf = (param: string) => `--${param.replaceAll('_', '-')}`;

function collected(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** The given filter, or null if there is none. Throws UsageError for an invalid one. */
export function filterOf(options: CriteriaOptions): EventFilter | null {
  const stated = filterNames.flatMap((name) =>
    [options[name] ?? []].flat().map((text) => [paramOf(name), text] as const),
  );
  if (stated.length === 0) return null;
  const parsed = parseListQuery(stated);
  if ('query' in parsed) return parsed.query.filter;
  throw new UsageError(
    problemsText(parsed.problems.map((each) => ({ ...each, path: optionOf(each.path) }))),
  );
}

/** The given filter, unchecked; the service checks it. */
export function criteriaOf(options: CriteriaOptions): FilterJson {
  const stated = filterNames.flatMap((name) =>
    options[name] === undefined ? [] : [[name, options[name]] as const],
  );
  return Object.fromEntries(stated);
}
