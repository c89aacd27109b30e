import {
  type AlertRuleSettings,
  alertGrouping,
  alertLimits,
  type FieldProblem,
  type FilterJson,
  facetNames,
  filterToJson,
  limitNames,
  parseFilterBody,
  pointerOf,
} from '@indelible/protocol';
import type { Static } from 'typebox';
import { invalid } from '../http/problem.ts';
import type { RuleChange } from './schemas.ts';

export type RulePatch = Static<typeof RuleChange>;

/** A change of a rule, which is then of this kind. */
interface Change {
  kind: AlertRuleSettings['kind'];
  patch: RulePatch;
  /**
   * The former settings if the kind stays; otherwise null, because a new kind drops their members.
   */
  kept: AlertRuleSettings | null;
  problems: FieldProblem[];
}

/**
 * The settings after a change whose shape the schema has checked; omitted members keep their value.
 * Throws `validation_failed` with every problem.
 */
export function readRule(former: AlertRuleSettings | null, patch: RulePatch): AlertRuleSettings {
  const problems: FieldProblem[] = [];
  const name = patch.name ?? former?.name ?? required('name', problems, '');
  const kind = patch.kind ?? former?.kind ?? required('kind', problems, 'match');
  const filters = readFilters(patch.filters ?? former?.filters ?? {}, '/filters', problems);
  const change = { kind, patch, kept: former?.kind === kind ? former : null, problems };
  const settings: AlertRuleSettings = {
    name,
    kind,
    filters,
    ...readLimits(change),
    ...readGroup(change),
    ...readFollowing(change),
    notify: patch.notify ?? former?.notify ?? {},
  };
  if (problems.length === 0) return settings;
  throw invalid(problems);
}

function required<T>(member: string, problems: FieldProblem[], instead: T): T {
  problems.push({ path: pointerOf(member), code: 'required', message: 'is required' });
  return instead;
}

function refuseMember({ kind, problems }: Change, member: string): void {
  const message = `is not a member of a ${kind} rule`;
  problems.push({ path: pointerOf(member), code: 'unknown_field', message });
}

function readFilters(json: unknown, path: string, problems: FieldProblem[]): FilterJson {
  const parsed = parseFilterBody(json, path, facetNames);
  if ('filter' in parsed) return filterToJson(parsed.filter);
  problems.push(...parsed.problems);
  return {};
}

/** Reads what must follow for a threshold; with `{}` no event has to. */
function readFollowing(change: Change): Pick<AlertRuleSettings, 'followedBy'> {
  const { kind, patch, kept, problems } = change;
  if (kind !== 'threshold' && patch.followedBy !== undefined) {
    refuseMember(change, 'followedBy');
    return {};
  }
  const given = patch.followedBy ?? kept?.followedBy ?? {};
  const followedBy = readFilters(given, pointerOf('followedBy'), problems);
  return Object.keys(followedBy).length === 0 ? {} : { followedBy };
}

function readLimits(change: Change): Partial<AlertRuleSettings> {
  const { kind, patch, kept, problems } = change;
  return Object.fromEntries(
    limitNames.flatMap((limit): [string, number][] => {
      const range = alertLimits[kind][limit];
      if (range === undefined) {
        if (patch[limit] !== undefined) refuseMember(change, limit);
        return [];
      }
      const value = patch[limit] ?? kept?.[limit] ?? range.preset;
      const isWithin = value !== undefined && value >= range.min && value <= range.max;
      if (isWithin) return [[limit, value]];
      const message = `must be a whole number from ${range.min} to ${range.max} for a ${kind} rule`;
      const code = value === undefined ? 'required' : 'invalid_value';
      problems.push({ path: pointerOf(limit), code, message });
      return [];
    }),
  );
}

/** Null is no group. */
function readGroup(change: Change): Pick<AlertRuleSettings, 'groupBy'> {
  const { kind, patch, kept, problems } = change;
  const grouping = alertGrouping[kind];
  const given = patch.groupBy === undefined ? kept?.groupBy : patch.groupBy;
  const groupBy = given ?? undefined;
  if (grouping === 'none' && patch.groupBy) refuseMember(change, 'groupBy');
  if (grouping === 'required' && groupBy === undefined) {
    const message = 'is required: actor (its resource types), resource or ip (its networks)';
    problems.push({ path: pointerOf('groupBy'), code: 'required', message });
  }
  return grouping === 'none' || groupBy === undefined ? {} : { groupBy };
}
