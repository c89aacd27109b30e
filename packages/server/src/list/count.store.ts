import type { CountOrMore, EventFilter } from '@indelible/protocol';
import {
  matching,
  Params,
  rowsWith,
  type SqlFilter,
  shownEither,
  type Visibility,
} from '../events/filter-sql.store.ts';
import { portions } from '../events/portions.ts';

/** The number of matches, counted up to `max` + 1. */
export async function countEvents(
  filter: SqlFilter,
  visible: Visibility,
  max: number,
): Promise<number> {
  let count = 0;
  for await (const portion of portions(filter, visible)) {
    count += await countPortion(portion, visible, max + 1 - count);
    if (count > max) break;
  }
  return count;
}

/** Counts the matches of one portion, up to `max`. */
async function countPortion(filter: SqlFilter, visible: Visibility, max: number): Promise<number> {
  const params = new Params();
  const conditions = matching(visible.tx, filter, params);
  const branches = visible.classes
    .flatMap((each) => shownEither(each, filter, visible, params))
    .map((shown) => `SELECT FROM audit_events WHERE ${[...conditions, ...shown].join(' AND ')}`);
  const source = `${branches.join(' UNION ALL ')} LIMIT ${params.add(max)}`;
  const rows = await rowsWith<{ count: number }>(visible.tx, params)`
    SELECT count(*) AS count FROM (${source}) e`;
  return rows[0]?.count ?? 0;
}

const countedMax = 10_000;

/** The number of matches, or that there are at least so many. */
export async function countOrMore(filter: EventFilter, visible: Visibility): Promise<CountOrMore> {
  const count = await countEvents(filter, visible, countedMax);
  if (count > countedMax) return { value: countedMax, relation: 'gte' };
  return { value: count, relation: 'eq' };
}
