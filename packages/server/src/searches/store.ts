import { type EventFilter, lateClass, storedFilter, uuidTimeMs } from '@indelible/protocol';
import {
  matching,
  Params,
  rowsWith,
  shownIn,
  type Visibility,
} from '../events/filter-sql.store.ts';
import { portions } from '../events/portions.ts';
import type { TenantTx, WriterTx } from '../postgres/db.ts';
import { dateOrNull, execute, firstRow, rowsOf, sql } from '../postgres/sql.ts';

/** A saved search: query, checkpoint and answer. */
export interface SavedSearch {
  id: string;
  /** JSON text of the filter, see `filterToJson`. */
  filters: string;
  note: string | null;
  createdAtMs: number;
  createdById: string;
  createdByEmail: string | null;
  logId: string;
  checkpointSize: number;
  checkpointRoot: Buffer;
  checkpointNote: string;
  matched: number;
  digest: Uint8Array;
  /**
   * No event in the range, matching or not, expires before one of this time; null for an empty
   * range.
   */
  countedFromMs: number | null;
  /** JSON text of `UnknownValues`; null: saved by a build that did not look for them. */
  unknownValues: string | null;
}

export async function insertSearch(tx: WriterTx, tenantId: string, s: SavedSearch): Promise<void> {
  await execute(tx)`
    INSERT INTO searches (tenant_id, id, filters, note, created_at, created_by_id, created_by_email,
      log_id, checkpoint_size, checkpoint_root, checkpoint_note, matched, digest, counted_from,
      unknown_values)
    VALUES (${tenantId}, ${s.id}, ${s.filters}, ${s.note}, ${new Date(s.createdAtMs)},
      ${s.createdById}, ${s.createdByEmail}, ${s.logId}, ${s.checkpointSize}, ${s.checkpointRoot},
      ${s.checkpointNote}, ${s.matched}, ${s.digest}, ${dateOrNull(s.countedFromMs)},
      ${s.unknownValues})`;
}

const columns = sql`id, filters, note, created_at AS "createdAtMs", created_by_id AS "createdById",
  created_by_email AS "createdByEmail", log_id AS "logId", checkpoint_size AS "checkpointSize",
  checkpoint_root AS "checkpointRoot", checkpoint_note AS "checkpointNote", matched, digest,
  counted_from AS "countedFromMs", unknown_values AS "unknownValues"`;

export async function getSearch(tx: TenantTx, id: string): Promise<SavedSearch | null> {
  return firstRow<SavedSearch>(tx)`SELECT ${columns} FROM searches
    WHERE tenant_id = ${tx.tenantId} AND id = ${id}`;
}

/** Newest first, from this id on. */
export async function listSearches(
  tx: TenantTx,
  from: string,
  count: number,
): Promise<SavedSearch[]> {
  return rowsOf<SavedSearch>(tx)`SELECT ${columns} FROM searches
    WHERE tenant_id = ${tx.tenantId} AND id <= ${from} ORDER BY id DESC LIMIT ${count}`;
}

/** The needed part of a match. */
export interface Match {
  uuid: string;
  sequence: number;
}

/**
 * The next matches, newest first, before `before` (null: from the newest), in a log of `size`
 * entries. One branch for each class, in the order of its index.
 */
export async function nextMatches(
  filter: EventFilter,
  visible: Visibility,
  size: number,
  before: string | null,
  count: number,
): Promise<Match[]> {
  const matches: Match[] = [];
  const bounded = { ...filter, beforeSequence: size };
  for await (const part of portions(bounded, visible, { before })) {
    const params = new Params();
    const conditions = matching(visible.tx, part, params);
    if (before !== null) conditions.push(`id < ${params.add(before)}`);
    const limit = params.add(count - matches.length);
    const branches = visible.classes.map(
      (each) => `(SELECT id AS uuid, sequence FROM audit_events
        WHERE ${[...conditions, ...shownIn([each], part, visible, params)].join(' AND ')} ORDER BY id DESC LIMIT ${limit})`,
    );
    const found = await rowsWith<Match>(visible.tx, params)`
      SELECT * FROM (${branches.join(' UNION ALL ')}) m ORDER BY uuid DESC LIMIT ${limit}`;
    matches.push(...found);
    if (matches.length === count) break;
  }
  return matches;
}

/** See `countedFromMs` of a saved search: of the events in this range that the plan shows. */
export async function countedFrom(
  { from, to }: { from: number; to: number },
  visible: Visibility,
): Promise<number | null> {
  const params = new Params();
  const range = { from, to }; // without the facets
  const conditions = matching(visible.tx, range, params);
  const branches = visible.classes.map((each) => {
    const where = [...conditions, ...shownIn([each], range, visible, params)].join(' AND ');
    const isLate = each === lateClass;
    return `(SELECT ${isLate ? 'NULL::uuid' : 'id'} AS uuid, ${isLate ? 'received_at' : 'NULL::timestamptz'} AS received
      FROM audit_events WHERE ${where} ORDER BY ${isLate ? 'received_at' : 'id'} LIMIT 1)`;
  });
  interface Row {
    uuid: string | null;
    received: number | null;
  }
  const rows = await rowsWith<Row>(visible.tx, params)`${branches.join(' UNION ALL ')}`;
  const times = rows.map(({ uuid, received }) =>
    uuid === null ? (received ?? 0) : uuidTimeMs(uuid),
  );
  return times.length === 0 ? null : Math.min(...times);
}

/** A filter with an absolute range. */
export type FrozenFilter = EventFilter & { from: number; to: number };

/**
 * The filter limited to what can be answered now: from the plan's first time to the present. Open
 * ends become these times. An empty range has `from >= to`.
 */
export function freeze(filter: EventFilter, retainedFromMs: number, nowMs: number): FrozenFilter {
  const from = Math.max(filter.from ?? retainedFromMs, retainedFromMs);
  return { ...filter, from, to: Math.min(filter.to ?? nowMs, nowMs) };
}

export function frozenFilter(text: string): FrozenFilter {
  const { from, to, ...facets } = storedFilter(text);
  if (from === undefined || to === undefined) throw new Error('a stored filter has no range');
  return { ...facets, from, to };
}
