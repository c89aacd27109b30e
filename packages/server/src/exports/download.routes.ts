import { typeId, uuidFromTypeId } from '@indelible/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, unavailable } from '../http/problem.ts';
import type { ByteRange } from '../objects/object-store.ts';
import { readTenant, write } from '../postgres/db.ts';
import { mediaTypes, objectName } from './file/export-file.ts';
import { exportCalls, exportsPath, fileNameOf } from './routes.ts';
import { downloadSchema, fileSchema } from './schemas.ts';
import { byAnotherEvent, exportIdPrefix, fileOf, statusAt } from './shown-export.ts';
import { type ExportRow, getExport } from './store.ts';
import type { ExportParts } from './stream-export.ts';

const linkLivesMs = 5 * 60_000;

/** Two calls: one with a credential, which is recorded, returns a link; the link opens the file. */
export function downloadRoutes(app: FastifyInstance, parts: ExportParts): void {
  const { db, now, sealer, recordOwn } = parts;
  exportCalls(app, parts).on(
    'get /:id/download',
    downloadSchema,
    async ({ access, found }) => {
      const row = requireFile(await found(getExport), now());
      const event = byAnotherEvent('download', row, access);
      await write(db, (tx) => recordOwn(tx, row.tenantId, event));
      const { tenantId, id: exportId } = row;
      const file = { tenantId, exportId, untilMs: now() + linkLivesMs };
      const query = linkQuery(file, sealer.seal(contextOf(file), ''));
      const id = typeId(exportIdPrefix, exportId);
      return `${parts.publicUrl()}${exportsPath}/${id}/file?${query}`;
    },
    (reply, url) => reply.code(302).header('location', url).send(),
  );

  app.get(
    `${exportsPath}/:id/file`,
    { config: { scope: 'public' }, schema: fileSchema },
    async (request, reply) => sendFile(request, reply, parts, await linkedFile(request, parts)),
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

async function linkedFile(request: FastifyRequest, parts: ExportParts) {
  const { db, now } = parts;
  const id = uuidFromTypeId(exportIdPrefix, (request.params as { id: string }).id);
  const [, query = ''] = request.url.split(/\?(.*)/s, 2);
  const file = id && linkedTo(parts, id, query);
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
  parts: ExportParts,
  row: ExportRow,
) {
  const size = row.bytes ?? 0;
  const etag = `"${fileOf(row).sha256}"`;
  const range = rangeOf(request, size, etag);
  const opened = await parts.objects.getStream(objectName(row), range).catch((error: unknown) => {
    request.log.error({ err: error }, 'the file of an export cannot be read');
    throw unavailable('the file cannot be read from the object store; try again');
  });
  if (!opened) throw new AppError('gone', 'the file no longer exists; create the export again');
  if (range) {
    reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${size}`);
  }
  reply
    .type(mediaTypes[row.format])
    .header('content-disposition', `attachment; filename="${await fileNameOf(parts, row)}"`)
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

/**
 * The range that a `Range` header (RFC 9110 section 14) requests of a file of `size` bytes;
 * `unsatisfiable` if it is beyond the end. Null for the whole file: also for several ranges or an
 * invalid header, which a server may ignore.
 */
function readRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

/** One file of one tenant, until an expiry time. */
interface LinkedFile {
  tenantId: string;
  exportId: string;
  untilMs: number;
}

const contextOf = ({ tenantId, exportId, untilMs }: LinkedFile) =>
  `export-download:${tenantId}:${exportId}:${untilMs}`;

/** The query of a link that opens a file without a credential. */
function linkQuery({ tenantId: tenant, untilMs }: LinkedFile, signature: Buffer): string {
  const text = signature.toString('base64url');
  return new URLSearchParams({ tenant, until: String(untilMs), signature: text }).toString();
}

/**
 * The file; null if this service did not make the link, or it was changed, even in spelling. May
 * have expired.
 */
function linkedTo({ sealer }: ExportParts, exportId: string, query: string): LinkedFile | null {
  const sent = new URLSearchParams(query);
  const untilMs = Number(sent.get('until') ?? Number.NaN);
  const file = { tenantId: sent.get('tenant') ?? '', exportId, untilMs };
  const signature = Buffer.from(sent.get('signature') ?? '', 'base64url');
  if (query !== linkQuery(file, signature)) return null;
  try {
    sealer.open(contextOf(file), signature);
    return file;
  } catch {
    return null;
  }
}
