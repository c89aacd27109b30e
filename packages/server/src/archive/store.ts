import {
  type CommittedEvent,
  eventIdFromUuid,
  type LogEntry,
  storedFields,
} from '@indelible/protocol';
import type { QueryConfig } from 'pg';
import { shownSince, type Visibility } from '../events/filter-sql.store.ts';
import { openersOf } from '../events/prepared-event.ts';
import { visibility } from '../events/store.ts';
import { decodedEntries } from '../log/entries.store.ts';
import { type Queries, tenantIn, type WriterTx } from '../postgres/db.ts';
import { eachRow, type RowTexts } from '../postgres/each-row.ts';
import { planOnce } from '../postgres/engine.ts';
import { uuidArray } from '../postgres/pg-arrays.ts';
import { execute, firstRow, hasRow, rowsOf } from '../postgres/sql.ts';
import { listPartitions } from '../retention/partitions.store.ts';
import type { ArchivedBody } from './archived-row.ts';
import type { ArchivedSettings, StatedErasure } from './manifest.ts';

/* Statements of the owner role: no serving role may run them. */

/** A tenant whose plan has an archive. */
export interface ArchivedTenant extends ArchivedSettings {
  id: string;
}

/** Tenants with an archive, or one of them; without offboarded ones. */
export async function archivedTenants(
  tx: WriterTx,
  tenantId: string | null,
): Promise<ArchivedTenant[]> {
  return rowsOf<ArchivedTenant>(tx)`
    SELECT id, tenants.name, plan, locale, time_zone AS "timeZone", legal_hold AS "legalHold"
    FROM tenants JOIN plans ON plans.name = plan
    WHERE archive AND (${tenantId}::uuid IS NULL OR id = ${tenantId})
      AND NOT EXISTS (SELECT 1 FROM log_heads WHERE tenant_id = id AND closed_at IS NOT NULL)
    ORDER BY id`;
}

/** The last archived part: its last sequence, and the log's root there. */
export async function lastPart(
  tx: WriterTx,
  tenantId: string,
): Promise<{ last: number; stem: string; root: Buffer } | null> {
  return firstRow<{ last: number; stem: string; root: Buffer }>(tx)`
    SELECT last_sequence AS last, stem, root FROM archive_segments WHERE tenant_id = ${tenantId}
    ORDER BY first_sequence DESC LIMIT 1`;
}

export interface PartRow {
  tenantId: string;
  first: number;
  last: number;
  stem: string;
  events: number;
  bytes: number;
  archivedAtMs: number;
}

export async function listParts(tx: WriterTx, tenantId: string | null): Promise<PartRow[]> {
  return rowsOf<PartRow>(tx)`
    SELECT tenant_id AS "tenantId", first_sequence AS first, last_sequence AS last, stem, events, bytes,
      archived_at AS "archivedAtMs" FROM archive_segments
    WHERE ${tenantId}::uuid IS NULL OR tenant_id = ${tenantId} ORDER BY tenant_id, first_sequence`;
}

/** Bookmarks a part whose manifest is in the object store. */
export async function insertPart(
  tx: WriterTx,
  part: PartRow & { root: Uint8Array },
): Promise<void> {
  const { tenantId, first, last, stem, root, events, bytes, archivedAtMs } = part;
  await execute(tx)`INSERT INTO archive_segments VALUES (${tenantId}, ${first}, ${last}, ${stem},
    ${Buffer.from(root)}, ${events}, ${bytes}, ${new Date(archivedAtMs)})`;
}

/** The next run begins with the first entry again. Returns the number of parts. */
export async function forgetParts(tx: WriterTx, tenantId: string): Promise<number> {
  return execute(tx)`DELETE FROM archive_segments WHERE tenant_id = ${tenantId}`;
}

/**
 * True if the last complete run began at least `intervalMs` ago. The next one is due `retryMs` from
 * now, unless `keepWholeRun` reports that this one was complete. A last run in the future was
 * caused by a wrong clock and is ignored.
 */
export async function beginDueRun(
  tx: WriterTx,
  nowMs: number,
  { intervalMs, retryMs }: { intervalMs: number; retryMs: number },
): Promise<boolean> {
  const lastMs = nowMs - intervalMs;
  return hasRow(tx)`
    UPDATE archive_runs SET started_at = ${new Date(lastMs + Math.min(retryMs, intervalMs))}
    WHERE started_at <= ${new Date(lastMs)} OR started_at > ${new Date(nowMs)}`;
}

/** Stores that the run that began at this time was complete. */
export async function keepWholeRun(tx: WriterTx, beganMs: number): Promise<void> {
  await execute(tx)`UPDATE archive_runs SET started_at = ${new Date(beganMs)}`;
}

/** Whether retention recorded a removal after the log's first `size` entries. */
export async function hasNewerRemoval(
  tx: WriterTx,
  tenantId: string,
  size: number,
): Promise<boolean> {
  return hasRow(tx)`
    SELECT FROM audit_events WHERE tenant_id = ${tenantId} AND action = 'delete'
      AND resource_type = 'retention' AND recorded_by_kind = 'service' AND sequence >= ${size} LIMIT 1`;
}

/** Whether retention is removing a partition, which may hide events that the plan still shows. */
export async function isHeldBack(tx: WriterTx): Promise<boolean> {
  return (await listPartitions(tx)).some(({ state }) => state !== 'attached');
}

/** Erasures that the log records after this sequence. */
export async function erasuresBehind(
  tx: WriterTx,
  tenantId: string,
  sequence: number,
): Promise<StatedErasure[]> {
  const rows = await rowsOf<StatedErasure>(tx)`
    SELECT segment, actors, events, size FROM erasures
    WHERE tenant_id = ${tenantId} AND size > ${sequence} ORDER BY size`;
  return rows.map((row) => ({ ...row, events: row.events.map(eventIdFromUuid) }));
}

/** What the tenant's plan shows at this time. */
export async function shownOf(
  tx: WriterTx,
  tenantId: string,
  nowMs: number,
): Promise<Pick<Visibility, 'oldest'>> {
  const visible = await visibility(tenantIn(tx, tenantId), nowMs);
  if (visible === null) throw new Error('the tenant has no log');
  return visible;
}

/** One entry of the log with its event; null if that is removed or the plan hides it. */
export type TakeEntry = (sequence: number, entry: LogEntry, body: ArchivedBody | null) => void;

/** Hands over the entries `[start, end)` with their events, in order, as PostgreSQL sends them. */
export async function eachEntry(
  tx: WriterTx,
  tenantId: string,
  { start, end, oldest }: { start: number; end: number; oldest: string },
  take: TakeEntry,
): Promise<void> {
  const entries = await decodedEntries(tenantIn(tx, tenantId), start, end);
  let next = 0;
  const uuids = entries.map(({ eventUuid }) => eventUuid);
  const takeUntil = (end: number) => {
    for (const entry of entries.slice(next, end)) take(start + next++, entry, null);
  };
  // One plan for all pages: planning takes longer than reading a page.
  await planOnce(tx);
  await eachRow(tx, eventsOf(tenantId, uuids, oldest), (row) => {
    const body = bodyOf(row);
    const at = uuids.indexOf(body.event.uuid, next);
    const entry = entries[at];
    if (!entry) throw new Error(`the event ${body.event.uuid} was read out of order`);
    if (at > next) takeUntil(at);
    take(start + next++, entry, body);
  });
  takeUntil(entries.length);
}

/** The fields of an event that the log commits to, in the order of the statement below. */
const committed = storedFields.filter(({ kind }) => kind !== 'sequence' && kind !== 'time');

/**
 * The events with these ids, in this order, because the ids are the outer loop. Reads the classes
 * in the same snapshot: during a plan change, events move between classes. OFFSET prevents the
 * planner from reading all events of the tenant instead of each event by its key.
 */
const eventsOf = (tenantId: string, uuids: readonly string[], oldest: string): QueryConfig => ({
  name: 'archive-events',
  text: `SELECT e.* FROM unnest($2::uuid[]) AS wanted (i)
    CROSS JOIN LATERAL (SELECT found.*
      FROM unnest((SELECT retention_class || other_classes FROM log_heads WHERE tenant_id = $1)) AS class (c)
      CROSS JOIN LATERAL (
        SELECT ${committed.map(({ column }) => column).join(', ')}, salts, erased FROM audit_events
        WHERE tenant_id = $1 AND retention_class = c AND id = i
          AND (id >= $3 OR received_at >= $4) OFFSET 0) found OFFSET 0) e`,
  values: [tenantId, uuidArray(uuids), oldest, shownSince({ oldest })],
});

const emptyEvent = Object.fromEntries(committed.map(({ key }) => [key, null]));

function bodyOf(row: RowTexts): ArchivedBody {
  const event: Record<string, string | boolean | null> = { ...emptyEvent };
  let at = 0;
  for (const { key, kind } of committed) {
    const value = row[at++] ?? null;
    event[key] = kind === 'boolean' ? value === 't' : value;
  }
  const salts = Buffer.from((row[at] ?? '').slice(2), 'hex');
  const openers = { salts, erased: row[at + 1] ?? null, context: event.context as string | null };
  return { event: event as unknown as CommittedEvent, ...openersOf(openers) };
}

/** False while another process archives; the lock ends with the session. */
export function takeArchiveLock(owner: Queries): Promise<boolean> {
  return hasRow(owner)`SELECT WHERE pg_try_advisory_lock(hashtext('indelible.archive'))`;
}
