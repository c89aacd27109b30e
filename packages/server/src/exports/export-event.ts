import { typeId } from '@indelible/protocol';
import type { OwnEvent, Whence, Who } from '../own-event.ts';
import type { ExportRequest, ExportRow } from './store.ts';

export const exportIdPrefix = 'exp_';

const nowhere: Whence = { ip: null, userAgent: null };

/** The export as what it is: access to sensitive data. Comes before the first byte. */
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
      // Null when there are more than are counted; the outcome tells how many.
      rows: rowsTotal,
    },
  };
}

/** How it ended: what came out, or why nothing did. */
export function outcomeEvent(row: ExportRow, whence = nowhere): OwnEvent {
  const { status, bytes, sha256, failure, rowsDone } = row;
  return {
    ...basis(row, whence),
    action: 'export',
    after: {
      exportId: typeId(exportIdPrefix, row.id),
      outcome: status,
      rows: rowsDone,
      bytes,
      sha256: sha256 && Buffer.from(sha256).toString('hex'),
      failure,
    },
  };
}

/** In the name of who asked for it, as they were then. */
function basis(request: ExportRequest, whence: Whence) {
  const { id, requestedById, requestedByEmail, requestedByRole, accessReason } = request;
  return {
    actor: { id: requestedById, email: requestedByEmail, role: requestedByRole, ...whence },
    resource: { type: 'export', id, name: null },
    diff: {},
    reason: accessReason,
  };
}

/** Somebody takes the file, or takes the job back: a person of their own, not who asked for it. */
export function byAnotherEvent(action: 'download' | 'cancel', row: ExportRow, who: Who): OwnEvent {
  const { id, rowsDone, bytes, sha256 } = row;
  const file = { rows: rowsDone, bytes, sha256: sha256 && Buffer.from(sha256).toString('hex') };
  return {
    actor: who.actor,
    reason: who.reason,
    action,
    resource: { type: 'export', id, name: null },
    diff: {},
    after: { exportId: typeId(exportIdPrefix, id), ...(action === 'download' ? file : {}) },
  };
}
