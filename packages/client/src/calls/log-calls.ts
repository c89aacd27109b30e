import { parseTimestamp } from '@indelible/protocol';
import { IndelibleError } from '../http/errors.ts';
import type { Call, Params, RawAnswer, SentHeaders, Transport } from '../http/transport.ts';

/** The keys that sign for a log, as the service states them. */
export interface LogKeys {
  origin: string;
  /**
   * `vkey` as C2SP signed-note writes it; times are ISO 8601, `notAfter` null for the one in use.
   */
  keys: { vkey: string; notBefore: string; notAfter: string | null }[];
}

/** That one size of a log continues another; hashes in hexadecimal. */
export interface ConsistencyProof {
  first: number;
  second: number;
  path: string[];
}

/** Body lines (NDJSON) in order of id. */
export interface BodyPage {
  bytes: Uint8Array;
  /** The first moment that the tenant's plan still showed; null when the service does not say. */
  cutoffMs: number | null;
  /** Where the next page begins, for another call of `bodies`; null at the end. */
  next: string | null;
}

/**
 * Reads of one log. Notes, proofs, tiles and bodies come as the bytes they were sent as: whoever
 * checks them must see what the service said, not what this client made of it.
 */
export interface LogCalls {
  /** The keys of an origin. */
  keys(origin: string): Promise<LogKeys>;
  /** The latest signed checkpoint of the tenant's log: a signed note. */
  checkpoint(): Promise<Uint8Array>;
  /** A tile below a log's prefix (`tile/…`), or null where the log has none. `logId`: 32 hex. */
  tile(logId: string, path: string): Promise<Uint8Array | null>;
  /** Null when the log does not hold `second` entries. */
  consistency(first: number, second: number): Promise<ConsistencyProof | null>;
  /**
   * JSON text of the proof that an event is in the log, or null without one. Where it needs a newer
   * checkpoint the service signs one.
   */
  proof(id: string, options?: { attempts?: number }): Promise<Uint8Array | null>;
  /**
   * Every body that the plan shows, page after page as they are needed; from `next` on, if given.
   */
  bodies(logId: string, next?: string): AsyncGenerator<BodyPage, void, undefined>;
}

export function logCalls(send: Transport, headers: SentHeaders): LogCalls {
  const common = { method: 'GET', headers, idempotent: true } as const;
  const get = (path: string, params: Params = []) =>
    send({ ...common, path, params, answerBytesMax: jsonBytesMax });
  const raw = async (path: string, mediaType: string, more: Partial<Call> = {}) =>
    (await send({ ...common, path, mediaType, ...more })) as RawAnswer;
  const small = { answerBytesMax: smallBytesMax };
  return {
    keys: async (origin) =>
      (await get('/.well-known/indelible-log.json', [['origin', origin]])) as LogKeys,
    checkpoint: async () => (await raw('/api/audit-logs/checkpoint', 'text/plain', small)).bytes,
    tile: (logId, path) =>
      raw(`/l/${logId}/${path}`, 'application/octet-stream', small).then(bytesOf, nullWhenMissing),
    consistency: async (first, second) => {
      const sizes = [['first', `${first}`] as const, ['second', `${second}`] as const];
      const answer = get('/api/audit-logs/consistency', sizes).catch(nullWhenMissing);
      return (await answer) as ConsistencyProof | null;
    },
    proof: (id, options = {}) => {
      const path = `/api/audit-logs/${encodeURIComponent(id)}/proof`;
      const more = { ...options, answerBytesMax: bodyBytesMax };
      return raw(path, 'application/json', more).then(bytesOf, nullWhenMissing);
    },
    bodies: (logId, next = '') => {
      const page = (params: Params) => raw(`/l/${logId}/events`, ndjson, { params });
      return bodyPages(page, next);
    },
  };
}

// A note has three lines and a few signatures; a tile 256 entries of 62 bytes at most.
const smallBytesMax = 64 * 1024;
const jsonBytesMax = 2 ** 20;
// An event with both its states, and whatever escaping makes of them.
const bodyBytesMax = 16 * 2 ** 20;

const ndjson = 'application/x-ndjson';

async function* bodyPages(page: (params: Params) => Promise<RawAnswer>, first: string) {
  for (let at: string | null = first; at !== null; ) {
    const { bytes, headers }: RawAnswer = await page([...new URLSearchParams(at)]);
    const cutoff = headers.get('retention-cutoff');
    at = nextPage(headers.get('link'));
    yield { bytes, cutoffMs: cutoff === null ? null : parseTimestamp(cutoff), next: at };
  }
}

/**
 * The query of the next page. Only that is taken from the link: the key goes to the service the
 * caller has named, whatever address an answer points to.
 */
function nextPage(link: string | null): string | null {
  const [, query] = /<[^>?]*\?([^>]*)>\s*;\s*rel="next"/.exec(link ?? '') ?? [];
  return query ?? null;
}

const bytesOf = ({ bytes }: RawAnswer) => bytes;

function nullWhenMissing(error: unknown): null {
  if (error instanceof IndelibleError && error.code === 'not_found') return null;
  throw error;
}
