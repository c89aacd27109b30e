import {
  type EventFilter,
  type FieldProblem,
  filterToJson,
  resolvedFilter,
} from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import { requesterOf, type TenantAccess } from '../access/tenant-access.ts';
import type { Visibility } from '../events/filter-sql.store.ts';
import { readShown } from '../events/store.ts';
import { filterOfBody } from '../http/filter-body.ts';
import { AppError, unavailable } from '../http/problem.ts';
import { countEvents } from '../list/count.store.ts';
import { inSequence } from '../list/list.store.ts';
import { listBySequence } from '../list/sequence-list.store.ts';
import { lockHeads } from '../log/store.ts';
import { whenceOf } from '../own-event.ts';
import {
  type Database,
  readTenant,
  tenantIn,
  tookTooLong,
  type WriterTx,
  write,
} from '../postgres/db.ts';
import { askToConfirm, unconfirmedIn } from '../tenants/mail-recipients.ts';
import type { ExportInput } from './schemas.ts';
import { requestedEvent } from './shown-export.ts';
import {
  type ExportRequest,
  type ExportRow,
  type ExportUsage,
  exportUsage,
  insertExport,
} from './store.ts';
import type { ExportParts, ExportQuota } from './stream-export.ts';

/** Up to this many rows are sent with the answer; more become a job. */
const streamedRowsMax = 10_000;

/** The parameters of a new export. Throws `validation_failed` with every problem of the body. */
export function readExportInput(request: FastifyRequest) {
  const { format, columns = null } = (request.body ?? {}) as Partial<ExportInput>;
  const message = 'is allowed with csv only: ndjson always has every field';
  const problem: FieldProblem = { path: '/columns', code: 'invalid_value', message };
  const filter = filterOfBody(request, columns && format === 'ndjson' ? [problem] : []);
  return { filter, columns, format: format ?? 'csv' };
}

/** Begins an export: counts up to the limit, then one transaction with record, row and job. */
export async function createExport(
  request: FastifyRequest,
  parts: ExportParts,
  access: TenantAccess,
  { wantsJob, ...input }: ReturnType<typeof readExportInput> & { wantsJob: boolean },
): Promise<ExportRow> {
  const { db, now, newUuid, recordOwn, jobs, quota } = parts;
  const { tenantId } = access;
  const nowMs = now();
  const { format, columns } = input;
  const filter = resolvedFilter(input.filter, tenantId);
  const { visible, count } = await countRows(db, tenantId, filter, nowMs, request.gone);
  const basis = {
    ...requesterOf(access),
    mailTo: null,
    id: newUuid(nowMs),
    createdAtMs: nowMs,
    oldestId: visible.oldest,
    format,
    columns,
    filters: JSON.stringify(filterToJson(filter)),
  };
  return write(db, async (tx) => {
    const rowsTotal = count === null ? null : await countToEnd(db, tx, filter, visible, count);
    const mode = wantsJob || rowsTotal === null ? 'job' : 'stream';
    const wanted: ExportRequest = { ...basis, mode, rowsTotal };
    await recordOwn(tx, tenantId, requestedEvent(wanted, whenceOf(request)));
    // The record has locked the log's head: of two exports at once the second counts the first.
    const usage = await exportUsage(tx, tenantId);
    if (mode === 'job') await requireRoom(usage, quota);
    const row = await insertExport(tx, await withMailTo(parts, tx, wanted, request));
    if (row.mode === 'stream') return row;
    // The first export of every tenant comes before the second of any: a tenant with many exports
    // waits behind tenants with one.
    const [{ id }, priority] = [row, -usage.unfinished];
    await jobs.send(tx, 'export', { id, data: { tenantId, id }, tenantId, priority });
    return row;
  });
}

/**
 * Adds the address for the mail: never one of a header. One from a link that a tenant's key made
 * was chosen by the tenant, and confirms first; until then the mail goes to `notifyEmails`.
 */
async function withMailTo(
  parts: ExportParts,
  tx: WriterTx,
  wanted: ExportRequest,
  { principal }: FastifyRequest,
): Promise<ExportRequest> {
  const { email, maker } = principal;
  if (email === null || maker?.kind !== 'tenant') return { ...wanted, mailTo: email };
  const { tenantId } = wanted;
  const isKnown = (await unconfirmedIn(tenantIn(tx, tenantId)))([email]).length === 0;
  if (!isKnown && wanted.mode === 'job') await askToConfirm(parts, tx, tenantId, [email]);
  return { ...wanted, mailTo: isKnown ? email : null };
}

/**
 * The matches in the snapshot whose size `visible` gives; null if they exceed the limit of an
 * answer, or counting takes too long.
 */
async function countRows(
  db: Database,
  tenantId: string,
  filter: EventFilter,
  nowMs: number,
  gone: AbortSignal | undefined,
): Promise<{ visible: Visibility; count: number | null }> {
  try {
    const counting = async (visible: Visibility) => {
      const count = await countEvents(filter, visible, streamedRowsMax);
      return { visible, count: count > streamedRowsMax ? null : count };
    };
    return await readShown(db, tenantId, nowMs, counting, gone);
  } catch (error) {
    if (gone?.aborted || !tookTooLong(error)) throw error;
    return readShown(db, tenantId, nowMs, (visible) => ({ visible, count: null }));
  }
}

/**
 * The count including later events; null if it then exceeds the limit of an answer. Locks the head:
 * no event comes before the export's own record, so the recorded number of rows stays true.
 */
function countToEnd(
  db: Database,
  tx: WriterTx,
  filter: EventFilter,
  visible: Visibility,
  count: number,
): Promise<number | null> {
  const { tenantId } = visible.tx;
  // Takes the reader's connection first: waiting for it with a locked head would block recording.
  // Its snapshot begins with its first statement, after the lock.
  return readTenant(db, tenantId, async (reader) => {
    const [head] = await lockHeads(tx, [tenantId], true);
    if (head === undefined) return count;
    const { size, retentionClass, otherClasses } = head;
    const now = { ...visible, tx: reader, size, classes: [retentionClass, ...otherClasses] };
    let rows = count;
    for (let at: number | null = visible.size; at !== null && rows <= streamedRowsMax; ) {
      const page = await listBySequence({ ...inSequence, filter, limit: 500 }, now, at);
      rows += page.rows.length;
      at = page.nextSequence;
    }
    return rows > streamedRowsMax ? null : rows;
  });
}

/**
 * Whether the tenant may have one more, which `usage` does not count. Throws `rate_limited` with
 * the tenant's exports, and `unavailable` while the disk is low: the free space is for recording.
 */
async function requireRoom(usage: ExportUsage, quota: ExportQuota): Promise<void> {
  const { unfinishedMax, keptBytesMax } = quota;
  if (!(await quota.hasDisk())) {
    throw unavailable('the disk of the service is nearly full: it makes no exports now', 60);
  }
  if (usage.unfinished >= unfinishedMax) {
    throw limited(`${usage.unfinished} exports of this tenant are not ready; wait, or cancel some`);
  }
  if (usage.keptBytes < keptBytesMax) return;
  const [kept, max] = [usage.keptBytes, keptBytesMax].map((bytes) => Math.ceil(bytes / 2 ** 20));
  throw limited(
    `the kept exports of this tenant have ${kept} of ${max} MiB; wait until some expire, after 7 days`,
  );
}

function limited(detail: string): AppError {
  return new AppError('rate_limited', detail, { headers: { 'retry-after': '60' } });
}
