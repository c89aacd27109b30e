import {
  countedFacets,
  facetOf,
  firstUuidAt,
  type GroupKey,
  type StatsQuery,
} from '@indelible/protocol';
import { type TenantTx, uuidArray } from '../postgres/index.ts';
import { Params, type Visibility } from './filter-sql.store.ts';
import { allMatching, prepared } from './list.store.ts';
import { inOneStatement } from './portions.ts';

/** One group: its keys as text, the user's last e-mail, and the number of events. */
export interface StatsRow {
  keys: (string | null)[];
  email: string | null;
  count: number;
}

export const groupsMax = 10_000;

/** Minutes of 45 days, hours of more than seven years; most of them may be empty. */
export const bucketsMax = 65_000;

/** The column of a key; undefined for times, which are taken from ids. */
function columnOf(key: GroupKey): string | undefined {
  const facet = countedFacets.find((each) => each === key);
  const { uuid, text } = facet ? facetOf(facet).columns : {};
  return uuid ?? text;
}

/**
 * Counts by one or two keys, at most `groupsMax` + 1 groups: times in order, else the most frequent
 * first. `bucketStarts` (ascending epoch ms) split the ids into the local-time buckets of a time
 * key, so PostgreSQL needs neither time zones nor a timestamp column.
 */
export async function countGroups(
  tx: TenantTx,
  query: StatsQuery,
  visible: Visibility,
  bucketStarts: readonly number[],
): Promise<StatsRow[]> {
  const params = new Params();
  const filter = await inOneStatement(tx, query.filter, visible);
  const conditions = allMatching(tx, filter, visible, params);
  const keys = query.groupBy.map((key) => keyExpression(key, bucketStarts, params));
  // Ids begin with the time, so the greatest of these texts ends in the last used address.
  const lastEmail = `substr(max((id::text || actor_email) COLLATE "C"), 37)`;
  const email = query.groupBy.includes('user') ? lastEmail : 'NULL';
  const isTime = query.groupBy.map((key) => columnOf(key) === undefined);
  const order = isTime.flatMap((time, index) => (time ? [`${index + 1}`] : []));
  const { rows } = await tx.query<{
    k1: unknown;
    k2: unknown;
    email: string | null;
    count: number;
  }>(
    prepared(
      `SELECT ${keys[0]} AS k1, ${keys[1] ?? 'NULL'} AS k2, ${email} AS email, count(*) AS count
       FROM audit_events WHERE ${conditions.join(' AND ')}
       GROUP BY 1, 2 ORDER BY ${[...order, 'count(*) DESC', '1', '2'].join(', ')} LIMIT ${groupsMax + 1}`,
      params,
    ),
  );
  const text = (value: unknown, index: number) =>
    value === null
      ? null
      : isTime[index]
        ? new Date(bucketStarts[Number(value) - 1] ?? 0).toISOString()
        : String(value);
  return rows.map(({ k1, k2, email, count }) => ({
    keys: query.groupBy.length === 1 ? [text(k1, 0)] : [text(k1, 0), text(k2, 1)],
    email,
    count,
  }));
}

function keyExpression(key: GroupKey, bucketStarts: readonly number[], params: Params): string {
  const column = columnOf(key);
  if (column) return column;
  return `width_bucket(id, ${params.add(uuidArray(bucketStarts.map(firstUuidAt)))}::uuid[])`;
}
