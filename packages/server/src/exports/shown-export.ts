import { formatTimestamp, timestampOrNull, typeId } from '@indelible/protocol';
import { whoRequested } from '../access/tenant-access.ts';
import type { OwnEvent, Whence, Who } from '../own-event.ts';
import type { ExportRequest, ExportRow, ExportStatus, Failure } from './store.ts';

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

/** Recorded as access to sensitive data, before the first byte is sent. */
export function requestedEvent(request: ExportRequest, whence: Whence): OwnEvent {
  const { mode, format, columns, rowsTotal } = request;
  return {
    ...basis(request, whence),
    action: 'access',
    after: {
      exportId: typeId(exportIdPrefix, request.id),
      filters: JSON.parse(request.filters),
      mode,
      format,
      columns,
      // Null above the limit of counting; the outcome has the number.
      rows: rowsTotal,
    },
  };
}

/** The outcome: the file's facts, or the failure. */
export function outcomeEvent(row: ExportRow, whence?: Whence): OwnEvent {
  const { status, failure } = row;
  return {
    ...basis(row, whence),
    action: 'export',
    outcome: status === 'failed' ? 'failure' : 'success',
    after: {
      exportId: typeId(exportIdPrefix, row.id),
      outcome: status,
      ...fileOf(row),
      failure,
    },
  };
}

/** In the name of the person who requested it, as they were then. */
function basis(request: ExportRequest, whence?: Whence) {
  return {
    ...whoRequested(request, whence),
    resource: { type: 'export', id: request.id, name: null },
    diff: {},
  };
}

/** A download or cancellation, in the name of its caller, who may differ from the requester. */
export function byAnotherEvent(action: 'download' | 'cancel', row: ExportRow, who: Who): OwnEvent {
  const { id } = row;
  return {
    actor: who.actor,
    reason: who.reason,
    action,
    resource: { type: 'export', id, name: null },
    diff: {},
    after: { exportId: typeId(exportIdPrefix, id), ...(action === 'download' ? fileOf(row) : {}) },
  };
}
