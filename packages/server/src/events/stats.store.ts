import { firstUuidAt, type GroupKey, type StatsQuery } from '@indelible/protocol';
import type { TenantTx } from '../db.ts';
import { uuidArray } from '../pg-arrays.ts';
import {
  filterConditions,
  idRange,
  inClasses,
  Params,
  type Visibility,
} from './filter-sql.store.ts';
import { prepared } from './list.store.ts';

/** One group: its keys as text, the e-mail last seen of a user, and how many events. */
export interface StatsRow {
  keys: string[];
  email: string | null;
  count: number;
}

export const groupsMax = 10_000;

const expressions: Record<string, string> = {
  user: 'actor_id',
  action: 'action',
  resource: 'resource_type',
  category: 'category',
};

/**
 * Counts by one or two keys, at most `groupsMax` + 1 groups: times in order, else the most frequent
 * first. `bucketStarts` (ascending epoch ms) cut the ids into the local-time buckets of a time key,
 * so that PostgreSQL needs neither time zones nor a timestamp column.
 */
export async function countGroups(
  tx: TenantTx,
  query: StatsQuery,
  visible: Visibility,
  bucketStarts: readonly number[],
): Promise<StatsRow[]> {
  const params = new Params();
  const { from, to } = idRange(query.filter, visible.oldest, firstUuidAt);
  const conditions = [
    `tenant_id = ${params.add(tx.tenantId)}`,
    inClasses(visible.classes, params),
    `id >= ${params.add(from)}`,
    ...(to ? [`id < ${params.add(to)}`] : []),
    ...filterConditions(query.filter, params),
  ];
  const keys = query.groupBy.map((key) => keyExpression(key, bucketStarts, params));
  const email = query.groupBy.includes('user') ? 'max(actor_email)' : 'NULL';
  const isTime = query.groupBy.map((key) => expressions[key] === undefined);
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
    isTime[index] ? new Date(bucketStarts[Number(value) - 1] ?? 0).toISOString() : String(value);
  return rows.map(({ k1, k2, email, count }) => ({
    keys: query.groupBy.length === 1 ? [text(k1, 0)] : [text(k1, 0), text(k2, 1)],
    email,
    count,
  }));
}

function keyExpression(key: GroupKey, bucketStarts: readonly number[], params: Params): string {
  const column = expressions[key];
  if (column) return column;
  return `width_bucket(id, ${params.add(uuidArray(bucketStarts.map(firstUuidAt)))}::uuid[])`;
}
