import { typeId } from '@indelible/protocol';
import { whoRequested } from '../access/requester.ts';
import type { OwnEvent, Whence, Who } from '../own-event.ts';
import { exportIdPrefix, fileOf } from './shown-export.ts';
import type { ExportRequest, ExportRow } from './store.ts';

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
