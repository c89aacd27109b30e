import { typeId, uuidFromTypeId } from '@indelible/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, unavailable } from '../http/problem.ts';
import type { Parts } from '../parts.ts';
import { readTenant, write } from '../postgres/db.ts';
import { readRange } from './byte-range.ts';
import type { DownloadLinks } from './download-link.ts';
import { byAnotherEvent } from './export-event.ts';
import { mediaTypes, objectName } from './file/export-file.ts';
import { type ExportDeps, exportCalls, exportsPath, fileNameOf } from './routes.ts';
import { downloadSchema, fileSchema } from './schemas.ts';
import { exportIdPrefix, fileOf, statusAt } from './shown-export.ts';
import { type ExportRow, getExport } from './store.ts';

export interface DownloadDeps extends ExportDeps, Pick<Parts, 'objects' | 'publicUrl'> {
  links: DownloadLinks;
}

const linkLivesMs = 5 * 60_000;

/** Two calls: one with a credential, which is recorded, returns a link; the link opens the file. */
export function downloadRoutes(app: FastifyInstance, deps: DownloadDeps): void {
  const { db, now, links, recordOwn } = deps;
  exportCalls(app, deps).on(
    'get /:id/download',
    downloadSchema,
    async ({ access, found }) => {
      const row = requireFile(await found(getExport), now());
      const event = byAnotherEvent('download', row, access);
      await write(db, (tx) => recordOwn(tx, row.tenantId, event));
      const { tenantId, id: exportId } = row;
      const query = links.sign({ tenantId, exportId, untilMs: now() + linkLivesMs });
      const id = typeId(exportIdPrefix, exportId);
      return `${deps.publicUrl()}${exportsPath}/${id}/file?${query}`;
    },
    (reply, url) => reply.code(302).header('location', url).send(),
  );

  app.get(
    `${exportsPath}/:id/file`,
    { config: { scope: 'public' }, schema: fileSchema },
    async (request, reply) => sendFile(request, reply, deps, await linkedFile(request, deps)),
  );
}

/** Throws `gone` for an expired or failed file, and `conflict` for an unfinished one. */
function requireFile(row: ExportRow, nowMs: number): ExportRow {
  const status = statusAt(row, nowMs);
  if (row.mode === 'stream') {
    throw new AppError(
      'gone',
      'this export was sent with its answer and not stored; create it again',
    );
  }
  if (status === 'ready') return row;
  if (status === 'expired')
    throw new AppError('gone', 'the file expired after 7 days; create the export again');
  throw new AppError('conflict', `there is no file: the export is ${status}`);
}

async function linkedFile(request: FastifyRequest, { db, now, links }: DownloadDeps) {
  const id = uuidFromTypeId(exportIdPrefix, (request.params as { id: string }).id);
  const [, query = ''] = request.url.split(/\?(.*)/s, 2);
  const file = id && links.read(id, query);
  if (!file) throw new AppError('not_found', 'there is no such file');
  if (file.untilMs <= now()) {
    throw new AppError('forbidden', 'the link expired after 5 minutes; request the download again');
  }
  const row = await readTenant(db, file.tenantId, (tx) => getExport(tx, id));
  if (!row) throw new AppError('not_found', 'there is no such file');
  return requireFile(row, now());
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: DownloadDeps,
  row: ExportRow,
) {
  const size = row.bytes ?? 0;
  const etag = `"${fileOf(row).sha256}"`;
  const range = rangeOf(request, size, etag);
  const opened = await deps.objects.getStream(objectName(row), range).catch((error: unknown) => {
    request.log.error({ err: error }, 'the file of an export cannot be read');
    throw unavailable('the file cannot be read from the object store; try again');
  });
  if (!opened) throw new AppError('gone', 'the file no longer exists; create the export again');
  if (range) {
    reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${size}`);
  }
  reply
    .type(mediaTypes[row.format])
    .header('content-disposition', `attachment; filename="${await fileNameOf(deps, row)}"`)
    .header('content-length', range ? range.end - range.start + 1 : size)
    .header('accept-ranges', 'bytes')
    .header('etag', etag)
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'no-referrer');
  // Otherwise the framework would read it completely and discard it.
  if (request.method === 'HEAD') opened.body.destroy();
  return reply.send(opened.body);
}

/** Throws `range_not_satisfiable`. A range of another version of the file would be useless. */
function rangeOf({ headers }: FastifyRequest, size: number, etag: string) {
  const condition = headers['if-range'];
  if (condition !== undefined && condition !== etag) return undefined;
  const range = readRange(headers.range, size);
  if (range !== 'unsatisfiable') return range ?? undefined;
  throw new AppError('range_not_satisfiable', `the file has ${size} bytes`, {
    headers: { 'content-range': `bytes */${size}` },
  });
}
