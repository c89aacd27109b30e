import { randomBytes } from 'node:crypto';
import { type EventFilter, eventUuid } from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import { type Database, readTenant, write } from '../db.ts';
import type { Visibility } from '../events/filter-sql.store.ts';
import { countEvents } from '../events/list.store.ts';
import { visibility } from '../events/store.ts';
import type { Jobs } from '../jobs.ts';
import { actorOf } from '../own-event.ts';
import { AppError } from '../problem.ts';
import type { TenantAccess } from '../tenant-access.ts';
import { requestedEvent } from './export-event.ts';
import { type ExportInput, filterJson } from './export-input.ts';
import { countUnfinished, type ExportRequest, type ExportRow, insertExport } from './store.ts';
import type { StreamDeps } from './stream-export.ts';
import { tookTooLong } from './time-walk.ts';

/** So many rows are sent with the answer; one more makes a job. */
export const streamedRowsMax = 10_000;

/**
 * Begins an export: counts to the bound, then record and row (and job) in one transaction. What is recorded
 * between count and record is in the file too.
 */
export async function createExport(
  request: FastifyRequest,
  { db, now, recordOwn, jobs }: StreamDeps & { jobs: Jobs },
  access: TenantAccess,
  input: ExportInput,
  wantsJob: boolean,
): Promise<ExportRow> {
  const { tenantId } = access;
  const nowMs = now();
  const visible = await readTenant(db, tenantId, (tx) => visibility(tx, nowMs));
  if (!visible) throw new AppError('not_found', 'there is no such tenant');
  const count = await countRows(db, tenantId, input.filter, visible);
  const { format, columns } = input;
  const wanted: ExportRequest = {
    ...requester(request, access),
    ...{ id: eventUuid(nowMs, randomBytes(10)), createdAtMs: nowMs, oldestId: visible.oldest },
    ...{ format, columns, filters: JSON.stringify(filterJson(input.filter)) },
    mode: wantsJob || count === null ? 'job' : 'stream',
    rowsTotal: count,
  };
  const { ip, userAgent } = actorOf(request);
  return write(db, async (tx) => {
    const ahead = wanted.mode === 'job' ? await countUnfinished(tx, tenantId) : 0;
    await recordOwn(tx, tenantId, requestedEvent(wanted, { ip, userAgent }));
    const row = await insertExport(tx, wanted);
    if (row.mode === 'stream') return row;
    // Everybody's first comes before anybody's second: who asks for many waits behind who asks for one.
    const { id } = row;
    await jobs.send(tx, 'export', { id, data: { tenantId, id }, tenantId, priority: -ahead });
    return row;
  });
}

/** Matches so far; null when there are more than are sent at once, or it takes too long to tell. */
async function countRows(
  db: Database,
  tenantId: string,
  filter: EventFilter,
  visible: Visibility,
): Promise<number | null> {
  try {
    const count = await readTenant(db, tenantId, (tx) =>
      countEvents(tx, filter, visible, streamedRowsMax),
    );
    return count > streamedRowsMax ? null : count;
  } catch (error) {
    if (tookTooLong(error)) return null;
    throw error;
  }
}

function requester(request: FastifyRequest, { tenantId, operator }: TenantAccess) {
  const { id, email, role } = request.principal;
  return {
    tenantId,
    requestedById: id,
    requestedByEmail: operator ? operator.email : email,
    // A platform key is an operator too, and the tenant must see that.
    requestedByRole: operator ? 'superadmin' : role,
    accessReason: operator?.reason ?? null,
    // Only an address that a token vouches for: mail goes to nobody a header names.
    mailTo: email,
  };
}
