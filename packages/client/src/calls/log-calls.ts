import { parseTimestamp } from '@indelible/protocol';
import { IndelibleError } from '../http/errors.ts';
import type { Call, Params, RawAnswer, SentHeaders, Transport } from '../http/transport.ts';

/** The keys of a log, as the service states them. */
export interface LogKeys {
  origin: string;
  /** `vkey` by C2SP signed-note; times are ISO 8601; `notAfter` is null for the current key. */
  keys: { vkey: string; notBefore: string; notAfter: string | null }[];
}

/** Proves that the log of one size continues that of another; hashes in hexadecimal. */
export interface ConsistencyProof {
  first: number;
  second: number;
  path: string[];
}

/** Body lines (NDJSON) in order of id. */
export interface BodyPage {
  bytes: Uint8Array;
  /** The retention cutoff of the tenant's plan; null if the service does not state it. */
  cutoffMs: number | null;
  /** Start of the next page, for another call of `bodies`; null at the end. */
  next: string | null;
}

/**
 * Reads a log. Notes, proofs, tiles and bodies are returned as the bytes that the service sent,
 * because a verifier must check exactly these.
 */
export interface LogCalls {
  keys(origin: string): Promise<LogKeys>;
  /**
   * The latest signed checkpoint of the tenant's log: a signed note. With `fresh` one that covers
   * everything recorded so far, or an error if the service cannot sign one now.
   */
  checkpoint(options?: { fresh?: boolean }): Promise<Uint8Array>;
  /** A tile below a log's prefix (`tile/…`); null if the log has none. `logId`: 32 hex digits. */
  tile(logId: string, path: string): Promise<Uint8Array | null>;
  /** Null if the log has fewer than `second` entries. */
  consistency(first: number, second: number): Promise<ConsistencyProof | null>;
  /**
   * JSON text of an event's proof, or null without one. If needed, the service signs a new
   * checkpoint.
   */
  proof(id: string, options?: { attempts?: number }): Promise<Uint8Array | null>;
  /** Every body that the plan shows, page by page on demand; from `next` on, if given. */
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
    checkpoint: async ({ fresh = false } = {}) => {
      const fully = { headers: { ...headers, 'cache-control': 'no-cache' }, attempts: 1 };
      const more = { ...small, ...(fresh && fully) };
      return (await raw('/api/audit-logs/checkpoint', 'text/plain', more)).bytes;
    },
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

// A note has three lines and a few signatures; a tile has at most 256 entries of 62 bytes.
const smallBytesMax = 64 * 1024;
const jsonBytesMax = 2 ** 20;
// Room for an event with both states, fully escaped.
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
 * The query of the next page. Only the query is taken from the link: the key is sent to no other
 * address than the configured one.
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
