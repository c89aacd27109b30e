import { randomUUID } from 'node:crypto';
import { type AppError, unavailable } from '../http/problem.ts';
import type { TenantTx, WriterTx } from '../postgres/db.ts';
import { codeOf, messageOf } from '../postgres/embedded/error-code.ts';
import { callForTenants } from '../postgres/engine.ts';
import { byteaText, uuidArray } from '../postgres/pg-arrays.ts';
import { execute, firstRow, rowsOf } from '../postgres/sql.ts';
import { LogDamaged } from './entries.store.ts';
import type { LogAppend, LogHead } from './sequencer.ts';

/** The callers' text while the logs are stopped: only the operator's log names log and reason. */
export const haltedSentence =
  'recording is stopped, because the log contradicts its published checkpoints: tell ' +
  'the operator of the service';

export const logIsHalted = (): AppError => unavailable(haltedSentence);

/**
 * Locks the heads of these tenants until the transaction ends. Without `wait`, skips heads that
 * another flush has locked; tenants without a log are absent too. Throws `unavailable` while
 * recording is stopped.
 */
export async function lockHeads(
  tx: WriterTx,
  tenantIds: readonly string[],
  wait: boolean,
): Promise<LogHead[]> {
  const halted = requireRecording(tx);
  const heads = callForTenants<string, LogHead>(tx, tenantIds, String, (home, own) => ({
    name: 'lock-heads',
    text: `SELECT ${headColumns} FROM lock_heads($1, $2, $3)`,
    values: [home, uuidArray(own), wait],
  }));
  const [locked] = await Promise.all([heads, halted]);
  return locked;
}

const headColumns = `tenant_id AS "tenantId", size, frontier, last_received_us AS "lastReceivedUs",
  retention_class AS "retentionClass", other_classes AS "otherClasses",
  closed_at IS NOT NULL AS "isClosed"`;

/** Asked before the heads: behind a failed lock it would have no answer. */
async function requireRecording(tx: WriterTx): Promise<void> {
  const row = await firstRow<{ halted: string | null }>(tx)`SELECT halted FROM log_rounds`;
  if (row?.halted != null) throw logIsHalted();
}

/**
 * Which of these tenants exist, and whether they have a log: distinguishes a skipped head, an
 * unknown tenant, and a log that lost its head.
 */
export async function tenantsWithLog(
  tx: WriterTx,
  tenantIds: readonly string[],
): Promise<Map<string, { hasLog: boolean }>> {
  const ids = uuidArray(tenantIds);
  const rows = await rowsOf<{ tenantId: string; hasLog: boolean }>(tx)`
    SELECT coalesce(h.tenant_id, t.id) AS "tenantId", h.tenant_id IS NOT NULL AS "hasLog"
    FROM (SELECT tenant_id FROM log_heads WHERE tenant_id = ANY (${ids})) h
      FULL JOIN (SELECT id FROM tenants WHERE id = ANY (${ids})) t ON t.id = h.tenant_id`;
  return new Map(rows.map(({ tenantId, hasLog }) => [tenantId, { hasLog }]));
}

/**
 * Creates a tenant's log, or moves its new events to another retention class. Throws LogDamaged if
 * it has entries but no head.
 */
export async function openLog(
  tx: WriterTx,
  tenantId: string,
  retentionClass: number,
): Promise<void> {
  await execute(tx)`SELECT hold_plans()`;
  const opened = firstRow<{ former: number | null }>(tx)`
    SELECT former FROM open_log(${tenantId}, ${retentionClass}::smallint, ${randomUUID()}) AS former`;
  const row = await opened.catch((error: unknown) => {
    throw codeOf(error) === 'IND02' ? new LogDamaged('a log has lost its head', [tenantId]) : error;
  });
  const former = row?.former ?? null;
  if (former === null || former === retentionClass) return;
  await execute(tx)`SELECT attach_owed(${former}, ${retentionClass})`;
}

/** The events of a call of `append_events`, with the names of its parameters. */
export interface AppendedEvents {
  /** Rows of `audit_events`, as JSON. */
  events: string;
  /** Tenants with an event of the class of late ones. */
  late: string[];
  numbers: SourceNumber[];
}

/** The number that a recorder or outbox has given to an event. */
interface SourceNumber {
  tenant_id: string;
  key_id: string;
  id: string;
  sequence: number;
  received_at: string;
}

/**
 * Writes tail, tiles and heads, and the events that `eventsOf` makes of the same appends, in one
 * call; fails completely if a locked head has changed. Answers for each call how many events were
 * stored: 0 if one of their ids exists. Throws LogDamaged if the next entries of a log already
 * exist: they are computed here, so a refused value or key is never the event's fault.
 */
export async function recordLogs<Append extends LogAppend>(
  tx: WriterTx,
  appends: readonly Append[],
  eventsOf: (appends: readonly Append[]) => AppendedEvents,
): Promise<number[]> {
  const call = (home: string, own: readonly Append[]) => appendCall(home, own, eventsOf(own));
  const answers = callForTenants<Append, Recorded>(tx, appends, tenantOf, call);
  const recorded = await answers.catch((error: unknown) => {
    if (codeOf(error) !== 'IND03') throw error;
    throw new LogDamaged(messageOf(error), appends.map(tenantOf));
  });
  return recorded.map(({ stored }) => stored);
}

/** Appends to logs without storing events, with heads that are locked. */
export async function appendLogs(tx: WriterTx, appends: readonly LogAppend[]): Promise<void> {
  await recordLogs(tx, appends, () => ({ events: '[]', late: [], numbers: [] }));
}

export interface Recorded {
  stored: number;
}

const tenantOf = ({ head }: LogAppend) => head.tenantId;

/** The call of `append_events` on the node of the tenant `home`. */
export function appendCall(
  home: string,
  appends: readonly LogAppend[],
  { events, late, numbers }: AppendedEvents,
) {
  const logs = appends.map(({ head, newSize, frontier, receivedUs, tail }) => ({
    tenant_id: head.tenantId,
    old_size: head.size,
    new_size: newSize,
    frontier: byteaText(frontier),
    received_us: receivedUs,
    tail: byteaText(Buffer.concat(tail.map(({ entry }) => entry))),
  }));
  const tiles = appends.flatMap(({ head, tiles: own }) =>
    own.map(({ level, index, hash, rest }) => ({
      tenant_id: head.tenantId,
      level,
      index,
      hash: byteaText(hash),
      rest: byteaText(rest),
    })),
  );
  return {
    name: 'append-events',
    text: 'SELECT append_events($1, $2, $3, $4, $5, $6) AS stored',
    values: [
      home,
      JSON.stringify(logs),
      JSON.stringify(tiles),
      events,
      uuidArray(late),
      JSON.stringify(numbers),
    ],
  };
}

/** Size of the tenant's log: the next event's sequence. */
export async function logSize(tx: TenantTx): Promise<number> {
  const row = await firstRow<{ size: number }>(tx)`
    SELECT size FROM log_heads WHERE tenant_id = ${tx.tenantId}`;
  return row?.size ?? 0;
}
