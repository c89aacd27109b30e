import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError, unavailable } from './problem.ts';

/** The most bodies being received or processed at once. */
const bodiesMax = 2_000;

interface Load {
  bytes: number;
  bodies: number;
}

/**
 * Limits the memory of bodies. A body counts with its announced size from its first byte until its
 * answer has ended, so that unfinished bodies use up only their caller's share: a tenant has a
 * quarter, all callers without a credential together a sixteenth. Refuses with `rate_limited`, or
 * with `unavailable` if other callers use the rest.
 */
export function limitBodies(http: FastifyInstance, bytesMax: number): void {
  const all: Load = { bytes: 0, bodies: 0 };
  const loads = new Map<string, Load>();
  const fits = (load: Load, bytes: number, part: number) =>
    load.bytes + bytes <= bytesMax * part && load.bodies < bodiesMax * part;
  http.addHook('preParsing', (request, reply, payload, done) => {
    const bytes = announcedBytes(request);
    if (bytes === 0) return done(null, payload);
    const { caller, part } = shareOf(request);
    const own = loads.get(caller) ?? { bytes: 0, bodies: 0 };
    const refusal = !fits(own, bytes, part) ? tooMany() : !fits(all, bytes, 1) ? crowded() : null;
    if (refusal) {
      reply.header('connection', 'close'); // the rest of the body is not read
      throw refusal;
    }
    loads.set(caller, own);
    add(own, all, bytes, 1);
    reply.raw.once('close', () => {
      add(own, all, -bytes, -1);
      if (own.bodies === 0) loads.delete(caller);
    });
    done(null, payload);
  });
}

function add(own: Load, all: Load, bytes: number, bodies: number): void {
  for (const load of [own, all]) {
    load.bytes += bytes;
    load.bodies += bodies;
  }
}

/** A body of unknown size counts as the largest that its call accepts. */
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

const crowded = () => unavailable('too many bodies arrive at the moment');

function tooMany(): AppError {
  const detail = 'too many bodies arrive with this credential; send fewer at the same time';
  return new AppError('rate_limited', detail, { headers: { 'retry-after': '1' } });
}
