import {
  countedFacets,
  facetOf,
  firstUuidAt,
  type GroupKey,
  type StatsQuery,
} from '@indelible/protocol';
import { uuidArray } from '../postgres/pg-arrays.ts';
import { countInBlocks } from '../words/count-values.ts';
import { type Group, GroupCounts, type KeyValue } from '../words/group-counts.ts';
import { splitByBlocks } from './count-blocks.ts';
import { allMatching, Params, type SqlFilter, type Visibility } from './filter-sql.store.ts';
import { inOneStatement } from './portions.ts';
import { ofItsRange } from './prepared-statement.ts';

export interface StatsGroups {
  /** Each with the code of the first key, and of the second if there is one. */
  groups: readonly Group[];
  /** By key and code: the value. */
  values: readonly (readonly (string | null)[])[];
  /** By the code of a user: the last address in the range. */
  emails: readonly (string | null)[];
}

export const groupsMax = 10_000;

/** Minutes of 45 days, hours of more than seven years; most of them may be empty. */
export const bucketsMax = 65_000;

/** A query with the starts of its time buckets, ascending, in milliseconds. */
interface Counted {
  groupBy: readonly GroupKey[];
  filter: SqlFilter;
  bucketStarts: readonly number[];
}

/**
 * Counts by one or two keys: times in order, else the most frequent first. More than `groupsMax`
 * groups may be incomplete. `bucketStarts` (ascending epoch ms) split the ids into the local-time
 * buckets of a time key, so PostgreSQL needs neither time zones nor a timestamp column.
 */
export async function countGroups(
  query: StatsQuery,
  visible: Visibility,
  bucketStarts: readonly number[],
): Promise<StatsGroups> {
  const counts = new GroupCounts();
  const counted = { ...query, bucketStarts };
  const { inBlocks, rest } = await splitByBlocks(counted, visible);
  // First: blocks look only for addresses that are later than those of rows.
  for (const part of rest) {
    const filter = await inOneStatement(part, visible);
    await countRows({ ...counted, filter }, visible, counts);
  }
  if (inBlocks !== null) await countInBlocks(visible.tx, inBlocks, counts, groupsMax);
  return inOrder(counts, counted);
}

/** The column of a key; undefined for times, which are taken from ids. */
function columnOf(key: GroupKey): string | undefined {
  const facet = countedFacets.find((each) => each === key);
  const { uuid, text } = facet ? facetOf(facet).columns : {};
  return uuid ?? text;
}

async function countRows(
  { groupBy, filter, bucketStarts }: Counted,
  visible: Visibility,
  counts: GroupCounts,
): Promise<void> {
  const params = new Params();
  const conditions = allMatching(filter, visible, params);
  const keys = groupBy.map((key) => keyExpression(key, bucketStarts, params));
  const email = groupBy.includes('user') ? `max((${addressOfRow}) COLLATE "C")` : 'NULL';
  const { rows } = await visible.tx.query<{
    k1: KeyValue;
    k2: KeyValue;
    email: string | null;
    count: number;
  }>(
    ofItsRange(
      `SELECT ${keys[0]} AS k1, ${keys[1] ?? 'NULL'} AS k2, ${email} AS email, count(*) AS count
       FROM audit_events WHERE ${conditions.join(' AND ')} GROUP BY 1, 2 LIMIT ${groupsMax + 1}`,
      params,
    ),
  );
  for (const { k1, k2, email, count } of rows) addGroup(counts, groupBy, [k1, k2], email, count);
}

// Ids begin with the time, so the greatest of these texts ends in the last used address.
const addressOfRow = 'id::text || actor_email';
const uuidLength = 36;

function keyExpression(key: GroupKey, bucketStarts: readonly number[], params: Params): string {
  const column = columnOf(key);
  if (column) return column;
  return `width_bucket(id, ${params.add(uuidArray(bucketStarts.map(firstUuidAt)))}::uuid[])`;
}

/** `lastEmail` is an id and the address of its event, joined. */
function addGroup(
  counts: GroupCounts,
  groupBy: readonly GroupKey[],
  keys: readonly [KeyValue, KeyValue],
  lastEmail: string | null,
  count: number,
): void {
  const codes = [counts.keys[0].of(keys[0]), counts.keys[1].of(keys[1])] as const;
  counts.add(...codes, count);
  if (lastEmail === null) return;
  const [id, address] = [lastEmail.slice(0, uuidLength), lastEmail.slice(uuidLength)];
  counts.sawAddress(codes[groupBy.indexOf('user')] ?? 0, id, address);
}

/** Times in order, then the most frequent, then by value. */
function inOrder(counts: GroupCounts, { groupBy, bucketStarts }: Counted): StatsGroups {
  const [first, second] = counts.keys;
  const byKey = [
    (group: Group) => first.values[group.first] ?? null,
    (group: Group) => second.values[group.second] ?? null,
  ];
  const time = groupBy.findIndex((key) => !columnOf(key));
  let groups = counts.groups();
  // The least significant comes first: each sort keeps the order of equals.
  for (const by of byKey.filter((_, at) => at !== time).reverse()) groups = sortedBy(groups, by);
  groups = sortedBy(groups, ({ count }) => -count);
  for (const by of byKey.filter((_, at) => at === time)) groups = sortedBy(groups, by);
  const textOf = (value: string | number) =>
    typeof value === 'string' ? value : new Date(bucketStarts[value - 1] ?? 0).toISOString();
  const values = counts.keys.map((key) =>
    key.values.map((value) => (value === null ? null : textOf(value))),
  );
  const users = values[groupBy.indexOf('user')] ?? [];
  return { groups, values, emails: users.map((_, code) => counts.lastAddress(code)) };
}

/** Null comes last. Compares values instead of groups, of which there are many more. */
function sortedBy(groups: readonly Group[], keyOf: (group: Group) => KeyValue): Group[] {
  const lists = [...Map.groupBy(groups, keyOf)];
  lists.sort(([one], [other]) => {
    if (one === null || other === null) return one === null ? 1 : -1;
    return one < other ? -1 : 1;
  });
  return lists.flatMap(([, list]) => list);
}
