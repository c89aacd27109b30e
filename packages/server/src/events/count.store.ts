import {
  type CountOrMore,
  type EventFilter,
  facetNames,
  facetOf,
  uuidTimeMs,
} from '@indelible/protocol';
import { wordsToFind } from '../words/block-words.ts';
import {
  byColumn,
  matching,
  Params,
  type SqlFilter,
  shownParts,
  type Visibility,
} from './filter-sql.store.ts';
import { nearFirst, portions } from './portions.ts';
import { rowsWith } from './prepared-statement.ts';

/** The number of matches, counted up to `max` + 1. */
export async function countEvents(
  filter: SqlFilter,
  visible: Visibility,
  max: number,
): Promise<number> {
  let count = 0;
  const parts =
    wordsToFind(filter) === undefined
      ? nearFirst(filter, visible, null, true)
      : portions(filter, visible);
  for await (const part of parts) {
    count += await countMatching(part, visible, max + 1 - count);
    if (count > max) break;
  }
  return count;
}

/** The same of one portion, up to `max`. */
export async function countMatching(
  filter: SqlFilter,
  visible: Visibility,
  max: number,
): Promise<number> {
  const difference = asDifference(filter);
  if (difference !== null) {
    const allMax = 4 * max; // where most are excluded, reading them can end earlier
    const all = await countMatching(difference.all, visible, allMax);
    if (all < allMax)
      return Math.min(max, all - (await countMatching(difference.excluded, visible, all)));
  }
  const params = new Params();
  const conditions = matching(visible.tx, filter, params);
  const branches = visible.classes
    .flatMap((each) => shownParts(each, filter, visible, params))
    .map((part) => `SELECT FROM audit_events WHERE ${[...conditions, ...part].join(' AND ')}`);
  const source = `${branches.join(' UNION ALL ')} LIMIT ${params.add(max)}`;
  const rows = await rowsWith<{ count: number }>(visible.tx, params)`
    SELECT count(*) AS count FROM (${source}) e`;
  return rows[0]?.count ?? 0;
}

/**
 * A filter that excludes values of one facet and nothing else: as all events without these. Indexes
 * hold both, but the exclusion itself reads every row.
 */
function asDifference(filter: SqlFilter): { all: SqlFilter; excluded: SqlFilter } | null {
  const { from, to, isPart, ...conditions } = filter;
  const facet = facetNames.find((name) => filter[name] !== undefined);
  if (facet === undefined || Object.keys(conditions).length > 1) return null;
  const { any, none } = filter[facet] ?? { any: [], none: [] };
  const isIndexed = facetOf(facet).selective !== undefined;
  if (any.length > 0 || !isIndexed || byColumn(facet, none).length > 1) return null;
  const { [facet]: _, ...all } = filter;
  return { all, excluded: { ...filter, [facet]: { any: none, none: [] } } };
}

const day = 86_400_000;
const fewMatches = 5_000;
const countsMax = 8;

/**
 * The rest of the filter, and how many of its matches are still to skip, behind those that are
 * counted because reading their rows takes longer: a day, and then the time that should hold most
 * of the rest by the rate so far.
 */
export async function behindCounted(
  filter: EventFilter,
  visible: Visibility,
  descending: boolean,
  skip: number,
): Promise<{ filter: EventFilter; skip: number }> {
  // In the other direction the list begins at an event that is not known.
  if (!descending || asDifference(filter) === null) return { filter, skip };
  const lowest = Math.max(filter.from ?? 0, uuidTimeMs(visible.oldest));
  // One form of the statement for every part: each form takes a name.
  let rest = { ...filter, to: filter.to ?? Number.MAX_SAFE_INTEGER };
  let [left, span] = [skip, day];
  for (let counts = 0; left > fewMatches && counts < countsMax; counts++) {
    const edge = Math.min(rest.to, visible.newestMs) - span;
    if (edge <= lowest) break;
    const found = await countMatching({ ...rest, from: edge, isPart: true }, visible, left);
    if (found < left) {
      rest = { ...rest, to: edge };
      left -= found;
      span *= Math.min(16, (0.9 * left) / found);
    } else span /= 16;
  }
  return { filter: rest, skip: left };
}

const countedMax = 10_000;

/** The number of matches, or that there are at least so many. */
export async function countOrMore(filter: EventFilter, visible: Visibility): Promise<CountOrMore> {
  const count = await countEvents(filter, visible, countedMax);
  if (count > countedMax) return { value: countedMax, relation: 'gte' };
  return { value: count, relation: 'eq' };
}
