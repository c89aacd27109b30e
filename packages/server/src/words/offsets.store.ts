import type { TenantTx } from '../postgres/db.ts';
import { int8Array } from '../postgres/pg-arrays.ts';
import { firstRow, rowsOf, sql } from '../postgres/sql.ts';
import { uuidAt, uuidLength } from './word-block.ts';

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

/** The UUIDs at these ascending offsets of a block, in their order. */
export async function idsAt(
  tx: TenantTx,
  first: number,
  offsets: readonly number[],
): Promise<string[]> {
  const [low = 0, high = 0] = [offsets[0], offsets.at(-1)];
  // One slice is faster, unless most of it is not needed.
  const isDense = high - low < 16 * offsets.length;
  const wanted = isDense
    ? sql`substring(ids FROM ${low * uuidLength + 1}::int FOR ${(high - low + 1) * uuidLength}::int)`
    : sql`(SELECT string_agg(substring(ids FROM o::int * ${uuidLength}::int + 1
        FOR ${uuidLength}::int), '' ORDER BY o) FROM unnest(${int8Array(offsets)}::int8[]) o)`;
  const row = await firstRow<{ ids: Buffer }>(tx)`SELECT ${wanted} AS ids FROM word_blocks
    WHERE tenant_id = ${tx.tenantId} AND first = ${first}`;
  const ids = row?.ids ?? Buffer.alloc(0);
  return offsets.map((offset, at) => uuidAt(ids, isDense ? offset - low : at));
}
