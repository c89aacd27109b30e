import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { addressBlock } from './ip-range.ts';

/** A token of 16 KiB is the longest part of a sign-in. */
const bytesMax = 24 * 1024;

/** Bodies that may arrive at the same time: of one address, and of all. */
const ofAddressMax = 16;
const ofAllMax = 512;

/** The code of a connection whose body gave way to a newer one. */
export const gaveWay = 'BODY_GAVE_WAY';

interface Unfinished {
  address: string;
  end(code: string): void;
}

/**
 * Bounds the bodies of callers without a credential: in size, in time, and in number by address.
 * Beyond the number the oldest unfinished body gives way, so half-sent requests of a stranger never
 * keep a person from signing in: a whole body arrives within milliseconds.
 */
export function boundStrangersBodies(http: FastifyInstance, bodyMs: number): void {
  /** The oldest first. */
  const unfinished = new Set<Unfinished>();
  http.addHook('onRoute', (route) => {
    if (route.config?.scope !== 'public') return;
    route.bodyLimit = Math.min(route.bodyLimit ?? bytesMax, bytesMax);
  });
  http.addHook('preParsing', (request, _reply, payload, done) => {
    if (!request.principal && hasBody(request)) admit(addressBlock(request.ip), request.raw);
    done(null, payload);
  });

  function admit(address: string, raw: IncomingMessage): void {
    if (raw.complete) return; // came with its head, as most do
    const own = [...unfinished].filter((each) => each.address === address);
    const [oldest] = own.length >= ofAddressMax ? own : unfinished;
    if (own.length >= ofAddressMax || unfinished.size >= ofAllMax) oldest?.end(gaveWay);
    const leave = () => {
      clearTimeout(timer);
      unfinished.delete(body);
    };
    const end = (code: string) => {
      leave();
      http.server.emit('clientError', Object.assign(new Error(code), { code }), raw.socket);
    };
    const timer = setTimeout(() => end('ERR_HTTP_REQUEST_TIMEOUT'), bodyMs);
    const body = { address, end };
    unfinished.add(body);
    raw.once('end', leave).once('close', leave);
  }
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
