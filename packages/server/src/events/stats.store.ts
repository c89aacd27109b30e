import {
  countedFacets,
  facetNames,
  facetOf,
  firstUuidAt,
  type GroupKey,
  type StatsQuery,
} from '@indelible/protocol';
import { type TenantTx, uuidArray } from '../postgres/index.ts';
import { type ColdGroup, coldGroups, coldRange } from './cold.store.ts';
import { allMatching, Params, type SqlFilter, type Visibility } from './filter-sql.store.ts';
import { afterAll, inOneStatement } from './portions.ts';
import { ofItsRange } from './prepared-statement.ts';

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
  const filter = await inOneStatement(tx, query.filter, visible);
  const rows = await countInPostgres(tx, { ...query, filter }, visible, bucketStarts);
  const withEmail = query.groupBy.includes('user');
  const isTime = query.groupBy.map((key) => columnOf(key) === undefined);
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

type Counted = Omit<StatsQuery, 'filter'> & { filter: SqlFilter };

/** The groups in PostgreSQL, in order. */
async function countInPostgres(
  tx: TenantTx,
  query: Counted,
  visible: Visibility,
  bucketStarts: readonly number[],
): Promise<GroupRow[]> {
  const { groupBy, filter } = query;
  const isTimeAlone = groupBy.length === 1 && groupBy.every((key) => columnOf(key) === undefined);
  // A search for words is not repeated for each bucket.
  if (isTimeAlone && bucketStarts.length <= rangesMax && filter.q === undefined)
    return countRanges(tx, filter, visible, bucketStarts);
  if (groupBy.join() === 'user' && facetNames.every((facet) => filter[facet] === undefined)) {
    const users = await countRows(tx, query, visible, bucketStarts, false);
    if (users.length <= addressesMax) return withLastEmails(tx, filter, visible, users);
  }
  return countRows(tx, query, visible, bucketStarts, groupBy.includes('user'));
}

/** Above it, sorting all events into buckets is quicker than a scan for each bucket. */
const rangesMax = 1_000;

/** Above it, reading the addresses of all events is quicker than a scan for each user. */
const addressesMax = 1_000;

// Ids begin with the time, so the greatest of these texts ends in the last used address.
const addressOfRow = 'id::text || actor_email';

async function countRows(
  tx: TenantTx,
  { groupBy, filter }: Counted,
  visible: Visibility,
  bucketStarts: readonly number[],
  withEmail: boolean,
): Promise<GroupRow[]> {
  const params = new Params();
  const conditions = allMatching(tx, filter, visible, params);
  const keys = groupBy.map((key) => keyExpression(key, bucketStarts, params));
  const email = withEmail ? `max((${addressOfRow}) COLLATE "C")` : 'NULL';
  const times = groupBy.flatMap((key, index) => (columnOf(key) ? [] : [`${index + 1}`]));
  const { rows } = await tx.query<GroupRow>(
    ofItsRange(
      `SELECT ${keys[0]} AS k1, ${keys[1] ?? 'NULL'} AS k2, ${email} AS email, count(*) AS count
       FROM audit_events WHERE ${conditions.join(' AND ')}
       GROUP BY 1, 2 ORDER BY ${[...times, 'count(*) DESC', '1', '2'].join(', ')} LIMIT ${groupsMax + 1}`,
      params,
    ),
  );
  return rows;
}

/** Counts by time alone: an index has the events of each bucket side by side. */
async function countRanges(
  tx: TenantTx,
  filter: SqlFilter,
  visible: Visibility,
  bucketStarts: readonly number[],
): Promise<GroupRow[]> {
  const params = new Params();
  const conditions = allMatching(tx, filter, visible, params);
  const starts = bucketStarts.map(firstUuidAt);
  const ends = [...starts.slice(1), afterAll].slice(0, starts.length);
  const { rows } = await tx.query<GroupRow>(
    ofItsRange(
      `SELECT nth AS k1, NULL AS k2, NULL AS email, count
       FROM unnest(${params.uuids(starts)}, ${params.uuids(ends)}) WITH ORDINALITY AS b (low, high, nth),
         LATERAL (SELECT count(*) AS count FROM audit_events
           WHERE ${conditions.join(' AND ')} AND id >= low AND id < high) AS c
       WHERE count > 0 ORDER BY 1`,
      params,
    ),
  );
  return rows;
}

/** The last address of each user. So an index alone counts the events. */
async function withLastEmails(
  tx: TenantTx,
  filter: SqlFilter,
  visible: Visibility,
  users: readonly GroupRow[],
): Promise<GroupRow[]> {
  const params = new Params();
  const conditions = allMatching(tx, filter, visible, params);
  const ids = params.uuids(users.map(({ k1 }) => String(k1)));
  const { rows } = await tx.query<{ email: string | null }>(
    ofItsRange(
      `SELECT (SELECT ${addressOfRow} FROM audit_events
           WHERE ${conditions.join(' AND ')} AND actor_id = u.id AND actor_email IS NOT NULL
           ORDER BY id DESC LIMIT 1) AS email
       FROM unnest(${ids}) WITH ORDINALITY AS u (id, nth) ORDER BY nth`,
      params,
    ),
  );
  return users.map((user, index) => ({ ...user, email: rows[index]?.email ?? null }));
}

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
