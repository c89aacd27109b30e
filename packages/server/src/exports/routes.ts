import { finished, Readable } from 'node:stream';
import { storedFilter, typeId } from '@indelible/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TenantAccess } from '../access/tenant-access.ts';
import { TenantCalls } from '../access/tenant-calls.ts';
import { FairQueue } from '../http/fair-queue.ts';
import { AppError } from '../http/problem.ts';
import { whenGone } from '../http/tenant-reads.ts';
import { whenceOf } from '../own-event.ts';
import { readTenant, write } from '../postgres/db.ts';
import { getTenant } from '../tenants/store.ts';
import { createExport, readExportInput } from './create-export.ts';
import { fileName, mediaTypes } from './file/export-file.ts';
import { cancelSchema, createSchema, getSchema, listSchema } from './schemas.ts';
import { byAnotherEvent, exportIdPrefix, shownExport } from './shown-export.ts';
import { type ExportRow, endExport, getExport, listExports } from './store.ts';
import { type ExportParts, streamExport, withFirst } from './stream-export.ts';

export const exportsPath = '/api/audit-logs/exports';
const chunkBytes = 256 * 1024;

const streamsPerTenant = 8;
const streamWaitMs = 5_000;

/**
 * Each streamed file holds a page of up to 8 MiB in memory for as long as its reader likes, and a
 * tenant may have any number of readers. Small files end within moments, so a further request
 * waits. Jobs need no slot.
 */
function streamSlots(max: number): FairQueue {
  const waits = { waitingPerCaller: 50, waitMs: streamWaitMs };
  return new FairQueue({ max, ...waits, leavesMax: streamsPerTenant }, noSlot);
}

function noSlot(): AppError {
  const detail =
    'too many exports are being sent, of this tenant or of all; wait until one ends, or send ' +
    'Prefer: respond-async';
  return new AppError('rate_limited', detail, { headers: { 'retry-after': '5' } });
}

export function exportRoutes(app: FastifyInstance, parts: ExportParts): void {
  const { now } = parts;
  const streams = streamSlots(parts.quota.sentMax);

  const exports = exportCalls(app, parts);
  exports.onInput(
    'post',
    createSchema,
    (request) => ({ ...readExportInput(request), wantsJob: prefersAsync(request.headers.prefer) }),
    async ({ request, reply, access }, input) => {
      request.gone = whenGone(reply);
      if (!input.wantsJob) {
        const wanted = { caller: access.tenantId, size: 1, share: streamsPerTenant };
        finished(reply.raw, await streams.take(wanted, request.gone));
      }
      const row = await createExport(request, parts, access, input);
      return { row, request, ...input };
    },
    async (reply, { row, request, wantsJob }) => {
      if (row.mode === 'stream') return sendFile(request, reply, parts, row);
      parts.jobs.wake();
      if (wantsJob) reply.header('preference-applied', 'respond-async');
      const location = `${exportsPath}/${typeId(exportIdPrefix, row.id)}`;
      return reply.code(202).header('location', location).send(shownExport(row, now()));
    },
  );
  exports.list(listSchema, listExports, (rows) => rows.map((row) => shownExport(row, now())));
  exports.on('get /:id', getSchema, async ({ found }) =>
    shownExport(await found(getExport), now()),
  );
  exports.on('delete /:id', cancelSchema, async ({ access, found }) =>
    shownExport(await cancel(parts, access, await found(getExport)), now()),
  );
}

export const exportCalls = (app: FastifyInstance, parts: ExportParts) =>
  new TenantCalls(app, parts, {
    lookedAt: 'exports',
    path: exportsPath,
    tag: 'Exports',
    scope: 'exports:write',
    idPrefix: exportIdPrefix,
    judgesBodies: true,
    none: () => new AppError('not_found', 'there is no such export'),
  });

/**
 * RFC 7240: preferences are separated by commas and may have parameters; quoted text is literal, to
 * the end if its quotes never end. An empty value equals none.
 */
function prefersAsync(header: string | string[] | undefined): boolean {
  const unquoted = [header ?? []]
    .flat()
    .join(',')
    .replaceAll(/"(?:[^"\\]|\\.)*"?/g, (text) => (text === '""' ? '' : 'x'));
  return unquoted.split(',').some((each) => /^respond-async\s*(=\s*)?(;.*)?$/i.test(each.trim()));
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ExportParts,
  row: ExportRow,
) {
  const name = await fileNameOf(parts, row);
  // Nothing may fail after this: a file that is begun and not sent would never end.
  const chunks = await withFirst(streamExport(parts, row, whenceOf(request)));
  return reply
    .type(mediaTypes[row.format])
    .header('content-disposition', `attachment; filename="${name}"`)
    .send(Readable.from(chunks, { objectMode: false, highWaterMark: chunkBytes }));
}

export async function fileNameOf({ db }: Pick<ExportParts, 'db'>, row: ExportRow): Promise<string> {
  const tenant = await readTenant(db, row.tenantId, getTenant);
  return fileName(tenant?.name ?? '', storedFilter(row.filters), row.format, row.createdAtMs);
}

/** Cancelling twice succeeds; throws `conflict` if it has ended otherwise. */
async function cancel(
  { db, now, jobs, recordOwn }: ExportParts,
  access: TenantAccess,
  row: ExportRow,
): Promise<ExportRow> {
  if (row.status === 'cancelled') return row;
  return write(db, async (tx) => {
    const end = { status: 'cancelled', failure: null } as const;
    const cancelled = row.mode === 'job' ? await endExport(tx, row, end, now()) : null;
    if (!cancelled) {
      throw new AppError(
        'conflict',
        'the export has ended or is being sent, so it cannot be cancelled',
      );
    }
    await jobs.cancel(tx, 'export', row.tenantId, row.id);
    const event = byAnotherEvent('cancel', cancelled, access);
    await recordOwn(tx, row.tenantId, event);
    return cancelled;
  });
}
