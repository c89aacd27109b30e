import type { TenantTx } from '../postgres/db.ts';
import { int8Array } from '../postgres/pg-arrays.ts';
import { rowsOf } from '../postgres/sql.ts';
import { uuidLength } from './word-block.ts';

/* The ids and times at offsets of blocks. */

/**
 * The times of the events of these blocks, as `encodeTimes` writes them. In base64, a third shorter
 * than the text in which `pg` gets bytes: statistics read megabytes.
 */
export async function timesOfBlocks(
  tx: TenantTx,
  firsts: readonly number[],
): Promise<Map<number, Buffer>> {
  if (firsts.length === 0) return new Map();
  const rows = await rowsOf<{ first: number; times: string }>(tx)`
    SELECT first, encode(times, 'base64') AS times FROM word_blocks
    WHERE tenant_id = ${tx.tenantId} AND first = ANY (${int8Array(firsts)}::int8[])`;
  return new Map(rows.map(({ first, times }) => [first, Buffer.from(times, 'base64')]));
}

/** How many ids of a block are from before a time, for each of these pairs. */
export async function searchTimes(
  tx: TenantTx,
  wanted: readonly { first: number; ms: number }[],
): Promise<number[]> {
  if (wanted.length === 0) return [];
  const rows = await rowsOf<{ before: number }>(tx)`
    SELECT ids_before(ids, ms) AS before
    FROM unnest(${int8Array(wanted.map(({ first }) => first))}::int8[],
      ${int8Array(wanted.map(({ ms }) => ms))}::int8[]) WITH ORDINALITY AS w (first, ms, nth)
    JOIN word_blocks USING (first) WHERE tenant_id = ${tx.tenantId} ORDER BY nth`;
  return rows.map(({ before }) => before);
}

/** The UUIDs of some events of blocks, in their order. */
export async function idsOfEvents(
  tx: TenantTx,
  events: readonly { first: number; offset: number }[],
): Promise<string[]> {
  if (events.length === 0) return [];
  const rows = await rowsOf<{ uuid: string }>(tx)`
    SELECT encode(substring(ids FROM o::int * ${uuidLength}::int + 1 FOR ${uuidLength}::int),
      'hex')::uuid AS uuid
    FROM unnest(${int8Array(events.map(({ first }) => first))}::int8[],
      ${int8Array(events.map(({ offset }) => offset))}::int8[]) WITH ORDINALITY AS w (first, o, nth)
    JOIN word_blocks USING (first) WHERE tenant_id = ${tx.tenantId} ORDER BY nth`;
  return rows.map(({ uuid }) => uuid);
}
