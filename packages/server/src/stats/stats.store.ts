import {
  countedFacets,
  facetOf,
  firstUuidAt,
  type GroupKey,
  type StatsQuery,
} from '@indelible/protocol';
import { allMatching, Params, rowsWith, type Visibility } from '../events/filter-sql.store.ts';
import { inOneStatement } from '../events/portions.ts';
import { uuidArray } from '../postgres/pg-arrays.ts';

/** A group: the value of each key (null: the events without one), and the number of its events. */
export interface StatsGroup {
  values: (string | null)[];
  /** The last address of its user in the whole range; undefined: users are no key. */
  email: string | null | undefined;
  count: number;
}

export const groupsMax = 10_000;

/** Minutes of 45 days, hours of more than seven years; most of them may be empty. */
export const bucketsMax = 65_000;

/**
 * Counts by one or two keys: times in order, else the most frequent first. With more than
 * `groupsMax` groups the first ones and one more. `bucketStarts` (ascending epoch ms) split the ids
 * into the local-time buckets of a time key, so PostgreSQL needs neither time zones nor a timestamp
 * column.
 */
export async function countGroups(
  { groupBy, filter }: StatsQuery,
  visible: Visibility,
  bucketStarts: readonly number[],
): Promise<StatsGroup[]> {
  const params = new Params();
  const conditions = allMatching(await inOneStatement(filter, visible), visible, params);
  const keys = groupBy.map((key) => keyExpression(key, bucketStarts, params));
  const email = groupBy.includes('user') ? `max((${addressOfRow}) COLLATE "C")` : 'NULL';
  const order = [...groupBy.flatMap(isTime), 'count DESC', ...groupBy.flatMap(isValue)];
  const rows = await rowsWith<GroupRow>(visible.tx, params)`
    SELECT ${keys[0] ?? ''} AS k1, ${keys[1] ?? 'NULL::text'} AS k2, ${email} AS email,
      count(*) AS count
    FROM audit_events WHERE ${conditions.join(' AND ')} GROUP BY 1, 2
    ORDER BY ${order.join(', ')} LIMIT ${groupsMax + 1}`;
  const emailOf = lastAddresses(rows, groupBy.indexOf('user'));
  const textOf = (value: KeyValue) =>
    typeof value === 'number' ? new Date(bucketStarts[value - 1] ?? 0).toISOString() : value;
  return rows.map((row) => {
    const values = [textOf(row.k1), textOf(row.k2)].slice(0, groupBy.length);
    return { values, email: emailOf(row), count: row.count };
  });
}

/** The number of a time's bucket, or a value. */
type KeyValue = number | string | null;

interface GroupRow {
  k1: KeyValue;
  k2: KeyValue;
  /** Id and address of the last event with an address, joined. */
  email: string | null;
  count: number;
}

const isTime = (key: GroupKey, at: number) => (columnOf(key) === undefined ? [`k${at + 1}`] : []);
const isValue = (key: GroupKey, at: number) => (columnOf(key) === undefined ? [] : [`k${at + 1}`]);

/** The column of a key; undefined for times, which are taken from ids. */
function columnOf(key: GroupKey): string | undefined {
  const facet = countedFacets.find((each) => each === key);
  const { uuid, text } = facet ? facetOf(facet).columns : {};
  return uuid ?? text;
}

// Ids begin with the time, so the greatest of these texts ends in the last used address.
const addressOfRow = 'id::text || actor_email';
const uuidLength = 36;

function keyExpression(key: GroupKey, bucketStarts: readonly number[], params: Params): string {
  const column = columnOf(key);
  if (column) return column;
  return `width_bucket(id, ${params.add(uuidArray(bucketStarts.map(firstUuidAt)))}::uuid[])`;
}

/** The last address of the user of a row, over all rows; `at` is the place of the user's key. */
function lastAddresses(rows: readonly GroupRow[], at: number) {
  const userOf = (row: GroupRow) => (at === 0 ? row.k1 : row.k2);
  const last = new Map<KeyValue, string>();
  for (const row of rows) {
    const known = last.get(userOf(row)) ?? '';
    if (row.email !== null && row.email > known) last.set(userOf(row), row.email);
  }
  return (row: GroupRow) =>
    at < 0 ? undefined : (last.get(userOf(row))?.slice(uuidLength) ?? null);
}
