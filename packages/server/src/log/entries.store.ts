import { decodeEntry, entryBytes, type LogEntry, readOrNull, tileWidth } from '@indelible/protocol';
import { AppError } from '../http/problem.ts';
import { raw, rowsOf } from '../postgres/sql.ts';
import type { TenantTx } from '../postgres/tenant-tx.ts';

/* Reads what a log has stored. */

/** The callers' text for one damaged log, until the next round stops all. */
export const damagedSentence =
  'recording in this log is stopped, because the log is damaged: tell the operator of the service';

/** The error of a log that cannot be read. */
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
