import { exportFailures, formatTimestamp, timestampOrNull, typeId } from '@indelible/protocol';
import { whoRequested } from '../access/tenant-access.ts';
import { actOf, type OwnEvent, type Whence, type Who } from '../own-event.ts';
import type { ExportRequest, ExportRow, ExportStatus, Failure } from './store.ts';

export const exportIdPrefix = 'exp_';

const retries = '; the service retries';
const setbacks: Record<Failure, string> = {
  storage: `the file could not be written to the object store${retries}`,
  interrupted: `it was interrupted${retries}`,
  unexpected: exportFailures.unexpected + retries,
  aborted: '',
};

/** What answers, records and mail tell of an export's file. */
export const fileOf = ({
  rowsDone,
  bytes,
  sha256,
}: Pick<ExportRow, 'rowsDone' | 'bytes' | 'sha256'>) => {
  return { rows: rowsDone, bytes, sha256: sha256 && Buffer.from(sha256).toString('hex') };
};

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
    error: status === 'failed' && row.failure ? exportFailures[row.failure] : null,
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
  const filters = JSON.parse(request.filters);
  // `rows` is null above the limit of counting; the outcome has the number.
  const after = { ...idIn(request), filters, mode, format, columns, rows: rowsTotal };
  return actOf(whoRequested(request, whence), 'access', resourceOf(request), { after });
}

/** The outcome: the file's facts, or the failure; in the name of the requester. */
export function outcomeEvent(row: ExportRow, whence?: Whence): OwnEvent {
  const { status, failure } = row;
  return actOf(whoRequested(row, whence), 'export', resourceOf(row), {
    outcome: status === 'failed' ? 'failure' : 'success',
    after: { ...idIn(row), outcome: status, ...fileOf(row), failure },
  });
}

/** A download or cancellation, in the name of its caller, who may differ from the requester. */
export function byAnotherEvent(action: 'download' | 'cancel', row: ExportRow, who: Who): OwnEvent {
  const after = { ...idIn(row), ...(action === 'download' ? fileOf(row) : {}) };
  return actOf(who, action, resourceOf(row), { after });
}

const idIn = ({ id }: ExportRequest) => ({ exportId: typeId(exportIdPrefix, id) });
const resourceOf = ({ id }: ExportRequest) => ({ type: 'export', id, name: null });
