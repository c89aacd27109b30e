import {
  countedFacets,
  facetOf,
  firstUuidAt,
  type GroupKey,
  type StatsQuery,
} from '@indelible/protocol';
import { type TenantTx, uuidArray } from '../postgres/index.ts';
import { type ColdGroup, coldGroups, coldRange } from './cold.store.ts';
import { allMatching, Params, type Visibility } from './filter-sql.store.ts';
import { inOneStatement } from './portions.ts';
import { prepared } from './prepared-statement.ts';

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
  const lastEmail = `max((id::text || actor_email) COLLATE "C")`;
  const withEmail = query.groupBy.includes('user');
  const email = withEmail ? lastEmail : 'NULL';
  const isTime = query.groupBy.map((key) => columnOf(key) === undefined);
  const order = isTime.flatMap((time, index) => (time ? [`${index + 1}`] : []));
  const { rows } = await tx.query<GroupRow>(
    prepared(
      `SELECT ${keys[0]} AS k1, ${keys[1] ?? 'NULL'} AS k2, ${email} AS email, count(*) AS count
       FROM audit_events WHERE ${conditions.join(' AND ')}
       GROUP BY 1, 2 ORDER BY ${[...order, 'count(*) DESC', '1', '2'].join(', ')} LIMIT ${groupsMax + 1}`,
      params,
    ),
  );
  const range = coldRange(visible, filter);
  if (range !== null) {
    const columns = query.groupBy.map((key) => columnOf(key) ?? null);
    const cold = coldGroups(tx, visible, {
      filter,
      range,
      columns,
      withEmail,
      slotMs: slotOf(query),
    });
    await addCold(rows, cold, bucketStarts);
    rows.sort(inOrderOf(isTime));
  }
  const text = (value: unknown, index: number) =>
    value === null
      ? null
      : isTime[index]
        ? new Date(bucketStarts[Number(value) - 1] ?? 0).toISOString()
        : String(value);
  return rows.map(({ k1, k2, email, count }) => ({
    keys: query.groupBy.length === 1 ? [text(k1, 0)] : [text(k1, 0), text(k2, 1)],
    email: email?.slice(uuidLength) ?? null,
    count,
  }));
}

const uuidLength = 36;

interface GroupRow {
  k1: unknown;
  k2: unknown;
  email: string | null;
  count: number;
}

/** Local buckets begin at multiples of it: time zones differ by quarters of an hour. */
const slotOf = ({ groupBy }: StatsQuery) => (groupBy.includes('minute') ? 60_000 : 900_000);

/** Adds the groups of the archive, whose times are in milliseconds. */
async function addCold(
  rows: GroupRow[],
  cold: AsyncIterable<ColdGroup>,
  bucketStarts: readonly number[],
): Promise<void> {
  const keyOf = ({ k1, k2 }: Pick<GroupRow, 'k1' | 'k2'>) => JSON.stringify([k1, k2]);
  const groups = new Map(rows.map((row) => [keyOf(row), row]));
  const value = (key: unknown) =>
    typeof key === 'bigint' ? bucketOf(Number(key), bucketStarts) : (key ?? null);
  for await (const { keys, lastEmail, count } of cold) {
    const key = { k1: value(keys[0]), k2: value(keys[1]) };
    const known = groups.get(keyOf(key));
    if (known === undefined) {
      const row = { ...key, email: lastEmail, count };
      groups.set(keyOf(key), row);
      rows.push(row);
      continue;
    }
    known.count += count;
    if (lastEmail !== null && (known.email === null || lastEmail > known.email))
      known.email = lastEmail;
  }
}

/** As `width_bucket`: how many buckets begin at this time or before. */
function bucketOf(timeMs: number, starts: readonly number[]): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] ?? 0) <= timeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** As the statement orders groups: times first, then the most frequent. */
function inOrderOf(isTime: readonly boolean[]): (a: GroupRow, b: GroupRow) => number {
  const valuesOf = ({ k1, k2 }: GroupRow) => [k1, k2];
  const compare = (one: unknown, other: unknown) => {
    if (one === other) return 0;
    if (one === null || other === null) return one === null ? 1 : -1; // NULLS LAST
    return (one as string) < (other as string) ? -1 : 1;
  };
  return (a, b) => {
    const [one, other] = [valuesOf(a), valuesOf(b)];
    const byKey = one.map((value, index) => compare(value, other[index]));
    const byTime = byKey.filter((_, index) => isTime[index]);
    return [...byTime, b.count - a.count, ...byKey].find((each) => each !== 0) ?? 0;
  };
}

function keyExpression(key: GroupKey, bucketStarts: readonly number[], params: Params): string {
  const column = columnOf(key);
  if (column) return column;
  return `width_bucket(id, ${params.add(uuidArray(bucketStarts.map(firstUuidAt)))}::uuid[])`;
}
