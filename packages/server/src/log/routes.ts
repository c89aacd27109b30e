import {
  consistencyProof,
  formatHex,
  formatTimestamp,
  formatVerifierKey,
  parseTilePath,
  timestampOrNull,
  wholeNumber,
} from '@indelible/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type TenantCall, TenantCalls } from '../access/tenant-calls.ts';
import {
  answer,
  count,
  described,
  exact,
  LogParams,
  pathPart,
  queryText,
} from '../http/field-schemas.ts';
import { AppError } from '../http/problem.ts';
import { readQuery } from '../http/query.ts';
import { waitingOutside } from '../http/tenant-reads.ts';
import { Type } from '../http/type.ts';
import type { Parts } from '../parts.ts';
import { readTenant, type TenantTx } from '../postgres/db.ts';
import { coveringCheckpoint, publishedCheckpoint, signingKeys } from './checkpoint.store.ts';
import { hexToLogId } from './round.ts';
import { tileBytes, treeNodes } from './tree.store.ts';

export interface LogRouteDeps
  extends Pick<Parts, 'db' | 'sha' | 'recordAccess' | 'publishCheckpoint'> {
  /** Host part of every origin. */
  originHost: string;
}

const tag = 'Verification';
const noteText = 'text/plain; charset=utf-8';

/** A tenant's log by its origin, as C2SP tlog-tiles; checkpoints and consistency proofs. */
export function logRoutes(app: FastifyInstance, deps: LogRouteDeps): void {
  keyRoute(app, deps);
  const calls = new TenantCalls(app, deps, {
    lookedAt: 'log',
    path: '',
    tag,
    scope: 'events:read',
    idPrefix: null,
    none: noLog,
  });
  const note = (call: TenantCall) => latestNote(deps, call);
  const sendNote = (reply: FastifyReply, text: string) => reply.type(noteText).send(text);
  const named = { operationId: 'getLogCheckpoint', params: LogParams };
  calls.on('get /l/:logId/checkpoint', { ...named, ...checkpointSchema }, note, sendNote);
  const own = { operationId: 'getCheckpoint', ...checkpointSchema };
  calls.on('get /api/audit-logs/checkpoint', own, note, sendNote);
  calls.on(
    'get /l/:logId/tile/*',
    tileSchema,
    (call) => tileOf(deps, call),
    (reply, bytes) => {
      // A tile of this width never changes, because the log only grows.
      reply.header('cache-control', 'private, max-age=31536000, immutable');
      return reply.type('application/octet-stream').send(bytes);
    },
  );
  calls.onInput('get /api/audit-logs/consistency', consistencySchema, readSizes, (call, sizes) =>
    consistencyOf(deps, call, sizes),
  );
}

const Keys = described('LogKeys', 'The keys, newest first.', {
  origin: Type.String({ description: 'The key name of the vkey lines.' }),
  keys: Type.Array(
    exact({
      vkey: Type.String({ description: 'C2SP verifier key: `name+id+key`.' }),
      notBefore: Type.String({ format: 'date-time' }),
      notAfter: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    }),
  ),
});

function keyRoute(app: FastifyInstance, { db, sha, originHost }: LogRouteDeps): void {
  app.get(
    '/.well-known/indelible-log.json',
    {
      config: { scope: 'public' },
      schema: {
        tags: [tag],
        operationId: 'getLogKeys',
        summary: 'Verifier keys',
        description:
          'Every log is signed under its own origin as key name: name it with `origin` to get its vkey ' +
          'lines. The public keys are the same for all logs of the service, newest first; a key that was ' +
          'taken up again has a line for each time.',
        querystring: Type.Object({
          origin: Type.Optional(queryText('First line of the checkpoints of a log.')),
        }),
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
          notAfter: timestampOrNull(notAfterMs),
        })),
      };
    },
  );
}

function readOrigin(request: FastifyRequest, originHost: string): string {
  const isOrigin = (text: string) =>
    text.startsWith(originHost) && /^(\/l\/[0-9a-f]{32})?$/.test(text.slice(originHost.length));
  const origin = readQuery(request, ['origin'], (reader) =>
    reader.one('origin', `${originHost}/l/<32 hex>, the origin of a log of this service`, (text) =>
      isOrigin(text) ? text : null,
    ),
  );
  return origin ?? originHost;
}

const noLog = () => new AppError('not_found', 'there is no such log');

type Log = NonNullable<Awaited<ReturnType<typeof publishedCheckpoint>>>;

/** Reads the caller's log; the origin in a path must be of that log, else 404. */
function logReader({ request, tenantId }: TenantCall, { db }: LogRouteDeps) {
  const { logId } = request.params as { logId?: string };
  return <T>(read: (tx: TenantTx, log: Log) => Promise<T>): Promise<T> =>
    readTenant(db, tenantId, async (tx) => {
      const log = await publishedCheckpoint(tx);
      if (!log || (logId !== undefined && log.logId !== hexToLogId(logId))) throw noLog();
      return read(tx, log);
    });
}

const checkpointSchema = {
  summary: 'The latest signed checkpoint',
  description:
    'A C2SP signed note: origin, size, root. Made every 10 seconds, when a proof needs it, and for a ' +
    'call with `Cache-Control: no-cache`, whose answer covers everything recorded before.',
  response: { 200: answer('The note.', ['text/plain', Type.String()]) },
};

async function latestNote(deps: LogRouteDeps, call: TenantCall): Promise<string> {
  const read = logReader(call, deps);
  const mayBeOlder = !isRevalidated(call.request);
  const latest = () => read(async (_tx, log) => log);
  const { publishCheckpoint } = waitingOutside(call.request, deps);
  return (await coveringCheckpoint(latest, publishCheckpoint, { mayBeOlder })).note;
}

const isRevalidated = ({ headers }: FastifyRequest) =>
  /\bno-cache\b/i.test(headers['cache-control'] ?? '');

const tileSchema = {
  operationId: 'getLogTile',
  summary: 'A tile of hashes or of entries',
  description: 'C2SP tlog-tiles: `tile/<L>/<N>[.p/<W>]` and `tile/entries/<N>[.p/<W>]`.',
  params: Type.Object({
    ...LogParams.properties,
    '*': pathPart('`<L>/<N>[.p/<W>]` or `entries/<N>[.p/<W>]`, as it is.'),
  }),
  response: {
    200: answer('Hashes, or length-prefixed entries.', [
      'application/octet-stream',
      Type.String({ format: 'binary' }),
    ]),
  },
};

async function tileOf(deps: LogRouteDeps, call: TenantCall): Promise<Uint8Array> {
  const { '*': rest } = call.request.params as { '*': string };
  const tile = parseTilePath(`tile/${rest}`);
  const read = logReader(call, deps);
  const found = await read(async (tx, { size }) => tile && tileBytes(tx, deps.sha, tile, size));
  if (found === null) throw new AppError('not_found', 'the log has no such tile');
  return found;
}

const Consistency = described('ConsistencyProof', 'The proof.', {
  first: Type.Integer(),
  second: Type.Integer(),
  path: Type.Array(Type.String({ pattern: '^[0-9a-f]{64}$' })),
});

const consistencySchema = {
  operationId: 'getConsistencyProof',
  summary: 'Proof that one size of the log continues another',
  description:
    'RFC 6962: the hashes that lead from the root of `first` to that of `second`, in hexadecimal.',
  querystring: Type.Object({
    first: count('The size that is known.'),
    second: count('The size that is to continue it.'),
  }),
  response: { 200: Consistency },
};

type Sizes = ReturnType<typeof readSizes>;

function consistencyOf(deps: LogRouteDeps, call: TenantCall, { first, second }: Sizes) {
  return logReader(
    call,
    deps,
  )(async (tx, { size }) => {
    if (second > size) throw new AppError('not_found', `the log has ${size} entries`);
    const path = await consistencyProof(deps.sha, treeNodes(tx, deps.sha), first, second);
    return { first, second, path: path.map(formatHex) };
  });
}

function readSizes(request: FastifyRequest): { first: number; second: number } {
  return readQuery(request, ['first', 'second'], (reader) => {
    const size = (name: string) => {
      if (reader.all(name).length === 0) reader.refuse(name, 'is required: a size of the log');
      return reader.one(name, 'a size of the log', wholeNumber(0, Number.MAX_SAFE_INTEGER));
    };
    const [first = 0, second = Number.MAX_SAFE_INTEGER] = [size('first'), size('second')];
    if (first > second) reader.refuse('first', 'must not be larger than second');
    return { first, second };
  });
}
