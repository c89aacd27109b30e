import type { CountOrMore, EventFilter } from '@indelible/protocol';
import { AppError } from '../http/index.ts';
import type { TenantTx } from '../postgres/index.ts';
import { coldCount, coldRange } from './cold.store.ts';
import { allMatching, Params, type SqlFilter, type Visibility } from './filter-sql.store.ts';
import { nearFirst, portions } from './portions.ts';
import { prepared } from './prepared-statement.ts';

/** The number of matches, counted up to `max` + 1. */
export async function countEvents(
  tx: TenantTx,
  filter: EventFilter,
  visible: Visibility,
  max: number,
): Promise<number> {
  let count = 0;
  const parts =
    filter.q === undefined ? nearFirst(filter, visible, null, true) : portions(tx, filter, visible);
  for await (const part of parts) {
    count += await countMatching(tx, part, visible, max + 1 - count);
    if (count > max) break;
  }
  return count;
}

/** The same of one portion, up to `max`. */
export async function countMatching(
  tx: TenantTx,
  filter: SqlFilter,
  visible: Visibility,
  max: number,
): Promise<number> {
  const params = new Params();
  const conditions = allMatching(tx, filter, visible, params);
  const { rows } = await tx.query<{ count: number }>(
    prepared(
      `SELECT count(*) AS count FROM (SELECT 1 FROM audit_events
         WHERE ${conditions.join(' AND ')} LIMIT ${params.add(max)}) e`,
      params,
    ),
  );
  const hot = rows[0]?.count ?? 0;
  const range = hot < max ? coldRange(visible, filter) : null;
  return hot + (range ? await coldCount(tx, visible, { filter, range }, max - hot) : 0);
}

const countedMax = 10_000;

/**
 * The number of matches, or that there are at least so many. A page from PostgreSQL must not fail
 * because the archive is unavailable or slow. Then only the events in PostgreSQL are counted.
 */
export async function countOrMore(
  tx: TenantTx,
  filter: EventFilter,
  visible: Visibility,
): Promise<CountOrMore> {
  const count = await countEvents(tx, filter, visible, countedMax).catch((error: unknown) => {
    if (!isOfArchive(error)) throw error;
    return null;
  });
  if (count === null) {
    const hot = await countEvents(tx, filter, { ...visible, coldBefore: null }, countedMax);
    return { value: Math.min(hot, countedMax), relation: 'gte' };
  }
  if (count > countedMax) return { value: countedMax, relation: 'gte' };
  return { value: count, relation: 'eq' };
}

const isOfArchive = (error: unknown) =>
  error instanceof AppError && ['archive_unavailable', 'too_slow'].includes(error.code);
