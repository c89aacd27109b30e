import { formatTimestamp, timestampOrNull, typeId } from '@indelible/protocol';
import type { ExportRow, ExportStatus, Failure } from './store.ts';

export const exportIdPrefix = 'exp_';

const errors: Record<Failure, string> = {
  storage: 'the file could not be written to the object store in several attempts',
  interrupted: 'every attempt was interrupted',
  unexpected: 'an unexpected error stopped it',
  aborted: 'the connection was closed before the file was complete',
};

const setbacks: Record<Failure, string> = {
  storage: 'the file could not be written to the object store; the service retries',
  interrupted: 'it was interrupted; the service retries',
  unexpected: 'an unexpected error stopped it; the service retries',
  aborted: errors.aborted,
};

/** What answers, records and mail tell of an export's file. */
export const fileOf = ({
  rowsDone,
  bytes,
  sha256,
}: Pick<ExportRow, 'rowsDone' | 'bytes' | 'sha256'>) => {
  return { rows: rowsDone, bytes, sha256: sha256 && Buffer.from(sha256).toString('hex') };
};

/** An export as the API shows it now. */
export function shownExport(row: ExportRow, nowMs: number) {
  const { requestedById, requestedByEmail, finishedAtMs, expiresAtMs } = row;
  const status = statusAt(row, nowMs);
  return {
    id: typeId(exportIdPrefix, row.id),
    mode: row.mode,
    status,
    format: row.format,
    columns: row.columns,
    filters: JSON.parse(row.filters),
    rowsDone: row.rowsDone,
    rowsTotal: row.rowsTotal,
    bytes: row.bytes,
    sha256: fileOf(row).sha256,
    createdAt: formatTimestamp(row.createdAtMs),
    finishedAt: timestampOrNull(finishedAtMs),
    expiresAt: timestampOrNull(expiresAtMs),
    requestedBy: { id: requestedById, email: requestedByEmail },
    error: status === 'failed' && row.failure ? errors[row.failure] : null,
    retryReason: status === 'queued' && row.failure ? setbacks[row.failure] : null,
    notified: row.notified ?? [],
    notice: row.notice,
  };
}

/** An expired file is gone at once, even if it was not removed yet. */
export function statusAt({ status, expiresAtMs }: ExportRow, nowMs: number): ExportStatus {
  return status === 'ready' && expiresAtMs !== null && expiresAtMs <= nowMs ? 'expired' : status;
}
