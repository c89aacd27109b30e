import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
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

type DownloadParts = ExportParts & { links: DownloadLinks };

const linkLivesMs = 5 * 60_000;

/** Two calls: one with a credential, which is recorded, returns a link; the link opens the file. */
export function downloadRoutes(app: FastifyInstance, parts: DownloadParts): void {
  const { db, now, links, recordOwn } = parts;
  exportCalls(app, parts).on(
    'get /:id/download',
    downloadSchema,
    async ({ access, found }) => {
      const row = requireFile(await found(getExport), now());
      const event = byAnotherEvent('download', row, access);
      await write(db, (tx) => recordOwn(tx, row.tenantId, event));
      const { tenantId, id: exportId } = row;
      const query = links.sign({ tenantId, exportId, untilMs: now() + linkLivesMs });
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

async function linkedFile(request: FastifyRequest, { db, now, links }: DownloadParts) {
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
  parts: DownloadParts,
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
export function readRange(
  header: string | undefined,
  size: number,
): ByteRange | 'unsatisfiable' | null {
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
export interface LinkedFile {
  tenantId: string;
  exportId: string;
  untilMs: number;
}

export type DownloadLinks = ReturnType<typeof createDownloadLinks>;

/**
 * Signs links that open a file without a credential, and verifies them. The key is derived by
 * HKDF-SHA-256 (RFC 5869) from the session secret.
 */
export function createDownloadLinks(sessionSecret: string) {
  const info = 'indelible/export-download/v1';
  const key = new Uint8Array(hkdfSync('sha256', sessionSecret, '', info, 32));
  const tag = ({ tenantId, exportId, untilMs }: LinkedFile) =>
    createHmac('sha256', key).update(`${tenantId}\n${exportId}\n${untilMs}`).digest();
  /** Query parameters of the link. */
  const sign = (file: LinkedFile) => {
    const { tenantId: tenant, untilMs } = file;
    const signature = tag(file).toString('base64url');
    return new URLSearchParams({ tenant, until: String(untilMs), signature });
  };
  return {
    sign,
    /**
     * The file; null if this service did not sign the link, or it was changed, even in spelling.
     * May have expired.
     */
    read(exportId: string, query: string): LinkedFile | null {
      const sent = new URLSearchParams(query);
      const file = {
        ...{ tenantId: sent.get('tenant') ?? '', exportId },
        untilMs: Number(sent.get('until') ?? Number.NaN),
      };
      return isSame(query, sign(file).toString()) ? file : null;
    },
  };
}

function isSame(sent: string, own: string): boolean {
  const [a, b] = [Buffer.from(sent), Buffer.from(own)];
  return a.length === b.length && timingSafeEqual(a, b);
}
