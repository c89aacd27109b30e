import { randomUUID } from 'node:crypto';
import { decodeEntry, entryBytes, type LogEntry, readOrNull, tileWidth } from '@indelible/protocol';
import { AppError, unavailable } from '../http/problem.ts';
import type { TenantTx, WriterTx } from '../postgres/db.ts';
import { codeOf, messageOf } from '../postgres/embedded/error-code.ts';
import { callForTenants } from '../postgres/engine.ts';
import { byteaText, uuidArray } from '../postgres/pg-arrays.ts';
import { execute, firstRow, raw, rowsOf } from '../postgres/sql.ts';
import type { LogAppend, LogHead } from './sequencer.ts';

/** The callers' text while the logs are stopped: only the operator's log names log and reason. */
export const haltedSentence =
  'recording is stopped, because the log contradicts its published checkpoints: tell ' +
  'the operator of the service';

export const logIsHalted = (): AppError => unavailable(haltedSentence);

/** The callers' text for one damaged log, until the next round stops all. */
export const damagedSentence =
  'recording in this log is stopped, because the log is damaged: tell the operator of the service';

/** The same for a log that cannot be read. */
export const unreadable = (finding: string, tenantId: string) =>
  new LogDamaged(
    finding,
    [tenantId],
    'the log is damaged, and this part cannot be read: tell the operator of the service',
    'log_damaged',
  );

/**
 * The stored log was changed. Recording fails with `unavailable`: the event is valid, and must not
 * be dropped. Reading fails with `log_damaged`. `finding` is for the operator.
 */
export class LogDamaged extends AppError {
  /** The tenants of the damaged logs, as far as known. */
  readonly tenantIds: readonly string[];

  constructor(
    finding: string,
    tenantIds: readonly string[],
    detail = damagedSentence,
    code: 'unavailable' | 'log_damaged' = 'unavailable',
  ) {
    const whose = `tenant ${tenantIds.join(', ')}: docs/incidents.md`;
    super(code, detail, { headers: { 'retry-after': '10' }, finding: `${finding}; ${whose}` });
    this.tenantIds = tenantIds;
  }
}

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

/** The UUIDs of the events of entries `[start, end)`, in order. */
export async function eventsBetween(tx: TenantTx, start: number, end: number): Promise<string[]> {
  return (await decodedEntries(tx, start, end)).map(({ eventUuid }) => eventUuid);
}

/** The entries of `readEntries`, decoded. Also throws LogDamaged if bytes are no entry. */
export async function decodedEntries(
  tx: TenantTx,
  start: number,
  end: number,
): Promise<LogEntry[]> {
  return (await readEntries(tx, start, end)).map((entry, at) => {
    const decoded = readOrNull(() => decodeEntry(entry));
    if (decoded !== null) return decoded;
    throw unreadable(`the bytes of entry ${start + at} of a log are no entry`, tx.tenantId);
  });
}

/**
 * Entries `[start, end)` in order, from tiles and tail; at most a few tiles at a time. Throws
 * LogDamaged if one is missing: a reader that goes on would not come back to those behind it.
 */
export async function readEntries(tx: TenantTx, start: number, end: number): Promise<Uint8Array[]> {
  const entries = await readEntriesOf(tx, tx.tenantId, start, end);
  if (entries.length >= end - start) return entries;
  throw unreadable(`a log lacks its entry ${start + entries.length}`, tx.tenantId);
}

/** Entries of any tenant, up to the first gap: no entry is taken for its neighbour. */
async function readEntriesOf(
  tx: Pick<TenantTx, 'query'>,
  tenantId: string,
  start: number,
  end: number,
): Promise<Uint8Array[]> {
  const width = raw(tileWidth);
  const rows = await rowsOf<{ first: number; data: Buffer }>(tx)`
    SELECT first, data FROM (
      SELECT index * ${width} AS first, data, 1 AS part FROM log_tiles
        WHERE tenant_id = ${tenantId} AND level = 0 AND index >= ${start}::bigint / ${width}
          AND index * ${width} < ${end}::bigint
      UNION ALL SELECT sequence, entry, 2 FROM log_tail
        WHERE tenant_id = ${tenantId} AND sequence >= ${start}::bigint AND sequence < ${end}::bigint
    ) parts ORDER BY first, part`;
  const entries: Uint8Array[] = [];
  for (const { first, data } of rows) {
    for (let at = 0; at < data.length; at += entryBytes) {
      const sequence = first + at / entryBytes;
      const isNext = sequence === start + entries.length && sequence < end;
      if (isNext) entries.push(data.subarray(at, at + entryBytes));
    }
  }
  return entries;
}

const entriesAtOnce = 16 * tileWidth;

/** Every stored entry from `start` on up to the first gap, in parts. */
export async function* entriesFrom(
  tx: Pick<TenantTx, 'query'>,
  tenantId: string,
  start: number,
): AsyncGenerator<Uint8Array[]> {
  for (let at = start; ; at += entriesAtOnce) {
    const entries = await readEntriesOf(tx, tenantId, at, at + entriesAtOnce);
    yield entries;
    if (entries.length < entriesAtOnce) return;
  }
}

/** The retention classes that the tenant's events may have. */
export async function classesOf(tx: Pick<TenantTx, 'query'>, tenantId: string): Promise<number[]> {
  const heads = await rowsOf<{ classes: number[] }>(tx)`
    SELECT retention_class || other_classes AS classes FROM log_heads WHERE tenant_id = ${tenantId}`;
  return heads.flatMap((head) => head.classes.map(Number));
}
