import {
  consistencyProof,
  formatVerifierKey,
  formatTimestamp,
  parseTilePath,
  type Sha256,
} from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { type Database, readTenant, type TenantTx } from '../db.ts';
import { judgedByHandler } from '../http.ts';
import { operatorHeaders } from '../operator-headers.ts';
import { AppError } from '../problem.ts';
import { type RecordAccess, readAsTenant } from '../tenant-access.ts';
import type { CheckpointJob } from './checkpoint.job.ts';
import { publishedCheckpoint, signingKeys } from './checkpoint.store.ts';
import { hexToLogId } from './round.ts';
import { tileBytes, treeNodes } from './tree.store.ts';

export interface LogRouteDeps {
  db: Database;
  sha: Sha256;
  checkpoints: CheckpointJob;
  recordAccess: RecordAccess;
  /** Host part of every origin. */
  originHost: string;
}

const tags = ['Verification'];
const scope = 'events:read';
const noteText = 'text/plain; charset=utf-8';

/** A tenant's log under its own origin, as C2SP tlog-tiles; checkpoints and consistency proofs. */
export function logRoutes(app: FastifyInstance, deps: LogRouteDeps): void {
  keyRoute(app, deps);
  checkpointRoutes(app, deps);
  tileRoute(app, deps);
  consistencyRoute(app, deps);
}

const Keys = Type.Object(
  {
    origin: Type.String({ description: 'The key name of the vkey lines.' }),
    keys: Type.Array(
      Type.Object(
        {
          vkey: Type.String({ description: 'C2SP verifier key: `name+id+key`.' }),
          notBefore: Type.String({ format: 'date-time' }),
          notAfter: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

function keyRoute(app: FastifyInstance, { db, sha, originHost }: LogRouteDeps): void {
  app.get(
    '/.well-known/indelible-log.json',
    {
      ...judgedByHandler,
      config: { scope: 'public' },
      schema: {
        tags,
        summary: 'Verifier keys',
        description:
          'Every log is signed under its own origin as key name: name it with `origin` to get its vkey lines. ' +
          'The public keys are the same for all logs of the service.',
        querystring: Type.Object({ origin: Type.Optional(Type.String()) }),
        response: { 200: Keys },
      },
    },
    async (request) => {
      const origin = readOrigin(request, originHost);
      const keys = await signingKeys(db.reader);
      return {
        origin,
        keys: keys.map(({ publicKey, notBeforeMs, notAfterMs }) => ({
          vkey: formatVerifierKey(sha, origin, publicKey),
          notBefore: formatTimestamp(notBeforeMs),
          notAfter: notAfterMs === null ? null : formatTimestamp(notAfterMs),
        })),
      };
    },
  );
}

function readOrigin(request: FastifyRequest, originHost: string): string {
  const { origin: [origin = originHost, ...more] = [] } = readParams(request, ['origin']);
  const log = origin.startsWith(originHost) ? origin.slice(originHost.length) : null;
  if (more.length === 0 && log !== null && /^(\/l\/[0-9a-f]{32})?$/.test(log)) return origin;
  const message = `must be ${originHost}/l/<32 hex>`;
  throw new AppError('invalid_parameter', 'origin is not that of a log of this service', {
    errors: [{ path: 'origin', code: 'invalid_value', message }],
  });
}

const LogParams = Type.Object({ logId: Type.String({ pattern: '^[0-9a-f]{32}$' }) });

type Log = NonNullable<Awaited<ReturnType<typeof publishedCheckpoint>>>;

/** Runs a read in the caller's tenant when `logId` is that tenant's log; else it does not exist. */
async function readLog<T>(
  request: FastifyRequest,
  { db, recordAccess, checkpoints }: LogRouteDeps,
  read: (tx: TenantTx, log: Log) => Promise<T>,
  isEnough: (log: Log) => boolean = () => true,
): Promise<T> {
  const { logId } = request.params as { logId?: string };
  return readAsTenant(request, recordAccess, async ({ tenantId }) => {
    const attempt = (isLast: boolean) =>
      readTenant(db, tenantId, async (tx) => {
        const log = await publishedCheckpoint(tx);
        if (!log || (logId !== undefined && log.logId !== hexToLogId(logId))) {
          throw new AppError('not_found', 'there is no such log');
        }
        return isLast || isEnough(log) ? { answer: await read(tx, log) } : null;
      });
    const first = await attempt(false);
    if (first) return first.answer;
    // Within the same read: an operator's access is one record, however often it looks.
    await checkpoints.onDemand();
    const second = await attempt(true);
    if (!second) throw new Error('a last attempt without an answer');
    return second.answer;
  });
}

function checkpointRoutes(app: FastifyInstance, deps: LogRouteDeps): void {
  const route = (url: string, params: object) => {
    app.get(
      url,
      {
        config: { scope },
        schema: {
          ...params,
          tags,
          summary: 'The latest signed checkpoint',
          description: 'A C2SP signed note: origin, size, root. Made every 10 seconds and when a proof needs it.',
          headers: operatorHeaders,
          response: { 200: { description: 'The note', content: { 'text/plain': { schema: Type.String() } } } },
        },
      },
      async (request, reply) => {
        const note = await readLog(request, deps, async (_tx, { checkpoint }) => checkpoint?.note ?? null);
        if (note !== null) return reply.type(noteText).send(note);
        await deps.checkpoints.onDemand();
        const made = await readLog(request, deps, async (_tx, { checkpoint }) => checkpoint?.note ?? null);
        if (made === null) throw new AppError('not_found', 'the log has no checkpoint yet');
        return reply.type(noteText).send(made);
      },
    );
  };
  route('/l/:logId/checkpoint', { params: LogParams });
  route('/api/audit-logs/checkpoint', {});
}

function tileRoute(app: FastifyInstance, deps: LogRouteDeps): void {
  app.get(
    '/l/:logId/tile/*',
    {
      config: { scope },
      schema: {
        tags,
        summary: 'A tile of hashes or of entries',
        description: 'C2SP tlog-tiles: `tile/<L>/<N>[.p/<W>]` and `tile/entries/<N>[.p/<W>]`.',
        params: Type.Object({ logId: Type.String({ pattern: '^[0-9a-f]{32}$' }), '*': Type.String() }),
        headers: operatorHeaders,
        response: {
          200: { description: 'Hashes, or length-prefixed entries', content: { 'application/octet-stream': { schema: Type.String() } } },
        },
      },
    },
    async (request, reply) => {
      const { '*': rest } = request.params as { '*': string };
      const tile = parseTilePath(`tile/${rest}`);
      const bytes = await readLog(request, deps, async (tx) => tile && tileBytes(tx, deps.sha, tile));
      if (!tile || !bytes) throw new AppError('not_found', 'the log has no such tile');
      // Appended-only: a tile of this width never changes.
      reply.header('cache-control', 'private, max-age=31536000, immutable');
      return reply.type('application/octet-stream').send(bytes);
    },
  );
}

const Consistency = Type.Object(
  {
    first: Type.Integer(),
    second: Type.Integer(),
    path: Type.Array(Type.String({ pattern: '^[0-9a-f]{64}$' })),
  },
  { additionalProperties: false },
);

function consistencyRoute(app: FastifyInstance, deps: LogRouteDeps): void {
  app.get(
    '/api/audit-logs/consistency',
    {
      ...judgedByHandler,
      config: { scope },
      schema: {
        tags,
        summary: 'Proof that one size of the log continues another',
        querystring: Type.Object({ first: Type.Integer({ minimum: 0 }), second: Type.Integer({ minimum: 0 }) }),
        headers: operatorHeaders,
        response: { 200: Consistency },
      },
    },
    async (request) => {
      const { first, second } = readSizes(request);
      return readLog(request, deps, async (tx, { size }) => {
        if (second > size) throw new AppError('not_found', `the log has ${size} entries`);
        const path = await consistencyProof(deps.sha, treeNodes(tx, deps.sha), first, second);
        return { first, second, path: path.map((hash) => Buffer.from(hash).toString('hex')) };
      });
    },
  );
}

function readSizes(request: FastifyRequest): { first: number; second: number } {
  const params = new URL(request.url, 'http://local').searchParams;
  const unknown = [...params.keys()].filter((name) => name !== 'first' && name !== 'second');
  if (unknown.length > 0) {
    throw new AppError('unknown_parameter', `${unknown[0]} is not a parameter of this call`, {
      errors: unknown.map((path) => ({ path, code: 'unknown_parameter', message: 'is not a parameter' })),
    });
  }
  const [first, second] = [params.getAll('first'), params.getAll('second')].map(wholeNumber);
  if (first !== undefined && second !== undefined && first <= second) return { first, second };
  throw new AppError('invalid_parameter', 'first and second must be sizes with first ≤ second', {
    errors: [{ path: 'first', code: 'invalid_value', message: 'must be a size no larger than second' }],
  });
}

function wholeNumber(values: string[]): number | undefined {
  const [text = ''] = values;
  return values.length === 1 && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
