import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { onceClosed } from './once-closed.ts';
import { AppError, unavailable } from './problem.ts';

/** Bodies and large answers at the same time. */
const countMax = 2_000;

/** Smaller answers fit into the buffers of their connection. */
const answerBytesMin = 64 * 1024;

interface Load {
  bytes: number;
  count: number;
}

/**
 * Bounds the memory of bodies and answers. A body counts with its announced size from its first
 * byte, an answer from when it is made, both until the answer has ended. So bodies without an end,
 * and readers that stop, cost a caller its own share alone: a tenant has a quarter, all callers
 * without a credential together a sixteenth. Refuses with `rate_limited`, or with `unavailable`
 * when other callers have taken the rest.
 */
export function limitBytesInFlight(http: FastifyInstance, bytesMax: number): void {
  const all: Load = { bytes: 0, count: 0 };
  const loads = new Map<string, Load>();
  // One alone always fits: a share may be smaller than the largest answer.
  const fits = (load: Load, bytes: number, part: number) =>
    load.count === 0 || (load.bytes + bytes <= bytesMax * part && load.count < countMax * part);
  const admit = (request: FastifyRequest, reply: FastifyReply, bytes: number) => {
    const { caller, part } = shareOf(request);
    const own = loads.get(caller) ?? { bytes: 0, count: 0 };
    if (!fits(own, bytes, part)) throw tooMany();
    if (!fits(all, bytes, 1)) throw unavailable('too many bodies and answers are under way');
    loads.set(caller, own);
    add(own, all, bytes, 1);
    onceClosed(reply.raw, () => {
      add(own, all, -bytes, -1);
      if (own.count === 0) loads.delete(caller);
    });
  };
  http.addHook('preParsing', (request, reply, payload, done) => {
    const bytes = announcedBytes(request);
    if (bytes === 0) return done(null, payload);
    reply.header('connection', 'close'); // unless it is admitted: the rest of the body is not read
    admit(request, reply, bytes);
    reply.removeHeader('connection');
    done(null, payload);
  });
  http.addHook('onSend', (request, reply, payload, done) => {
    const isText = typeof payload === 'string' || Buffer.isBuffer(payload);
    const bytes = isText ? payload.length : 0;
    if (request.principal && bytes >= answerBytesMin) admit(request, reply, bytes);
    done(null, payload);
  });
}

function add(own: Load, all: Load, bytes: number, count: number): void {
  for (const load of [own, all]) {
    load.bytes += bytes;
    load.count += count;
  }
}

/** A body of unknown size counts as the largest that its call takes. */
function announcedBytes({ headers, routeOptions }: FastifyRequest): number {
  const { bodyLimit = 0 } = routeOptions;
  if (headers['transfer-encoding'] !== undefined) return bodyLimit;
  return Math.min(Number(headers['content-length'] ?? 0), bodyLimit);
}

function shareOf({ principal }: FastifyRequest): { caller: string; part: number } {
  if (!principal) return { caller: 'public', part: 1 / 16 };
  const { tenantId } = principal;
  return tenantId === null ? { caller: 'platform', part: 1 } : { caller: tenantId, part: 1 / 4 };
}

function tooMany(): AppError {
  const detail =
    'too many bodies and answers with this credential are under way; send fewer at the same time';
  return new AppError('rate_limited', detail, { headers: { 'retry-after': '1' } });
}
