import { lookup as systemLookup } from 'node:dns/promises';
import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { callFailures } from '@indelible/protocol';
import { codeOf } from '../postgres/embedded/error-code.ts';
import { lineOf } from './answers.ts';
import { isPublicAddress } from './outbound-address.ts';
import { type Resolve, resolveByDns } from './outbound-names.ts';

/** A call to an address that a tenant has chosen. */
export interface OutboundCall {
  method: 'GET' | 'POST';
  url: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Sent unchanged; '' sends none. */
  body: string;
  signal?: AbortSignal;
}

/**
 * The result. `text` is the answer's first 64 KiB; `complete` shows whether that is all;
 * `retryAfter` is that header. `reason` is a clause without addresses and secrets; `mayPass`:
 * another attempt may help.
 */
export type OutboundResult =
  | { kind: 'answered'; status: number; retryAfter: string | null; text: string; complete: boolean }
  | { kind: 'failed'; reason: string; mayPass: boolean };

export type Outbound = (call: OutboundCall) => Promise<OutboundResult>;

export interface OutboundDeps {
  /** Allows plain http and private addresses: for development. */
  allowPrivate: boolean;
  /** Every address of a name, in the order of attempts. */
  resolve?: Resolve;
  /** For the whole call, from look-up to end of the answer. */
  timeoutMs?: number;
}

const answerBytesMax = 64 * 1024;
const keptBytesMax = 1024;
// Receivers in development are in the hosts file, or have names of a container network.
const resolveBySystem: Resolve = (host) => systemLookup(host, { all: true });

/**
 * Calls addresses that tenants choose: only https and public addresses. The address is checked at
 * the connection, so that a name cannot resolve differently for check and connection. Redirects are
 * returned, never followed; proxy variables are not read; no connection is kept open.
 */
export function createOutbound(deps: OutboundDeps): Outbound {
  const { timeoutMs = 10_000 } = deps;
  return async (call) => {
    const refusal = refusalOf(call.url, deps.allowPrivate);
    if (refusal !== null) return { kind: 'failed', reason: refusal, mayPass: false };
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = call.signal ? AbortSignal.any([timeout, call.signal]) : timeout;
    try {
      const answer = await send(call, deps, signal);
      const { statusCode: status = 0, headers } = answer;
      const retryAfter = headers['retry-after'] ?? null;
      return { kind: 'answered', status, retryAfter, ...(await readText(answer)) };
    } catch (error) {
      if (timeout.aborted) return { kind: 'failed', reason: lateReason(timeoutMs), mayPass: true };
      return failureOf(error);
    }
  };
}

/** Why this URL is refused before resolving it, or null. */
export function refusalOf(text: string, allowPrivate: boolean): string | null {
  if (!URL.canParse(text)) return callFailures.urlUnreadable;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return callFailures.urlWithUser;
  const isSecure = protocol === 'https:' || (allowPrivate && protocol === 'http:');
  if (!isSecure) return callFailures.urlInsecure;
  // The socket does no look-up for a literal address. The URL parser has normalised its spelling.
  const host = hostname.replace(/^\[|\]$/g, '');
  if (allowPrivate) return null;
  if (isIP(host) !== 0) return isPublicAddress(host) ? null : callFailures.addressPrivate;
  return privateNames.test(host) ? callFailures.namePrivate : null;
}

// Names that public DNS never has (RFC 6761, RFC 6762, and `internal`, which ICANN reserves).
const privateNames = /(^|\.)(localhost|local|internal)\.?$/;

class AddressRefused extends Error {}

class Unanswered extends Error {
  readonly code = 'UNANSWERED';
}

function send(
  call: OutboundCall,
  deps: OutboundDeps,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const url = new URL(call.url);
  const body = Buffer.from(call.body);
  const options: RequestOptions = {
    method: call.method,
    headers: { ...commonHeaders, ...call.headers, 'content-length': body.length },
    agent: false, // an agent of its own: no proxy, no connection that was judged for another call
    lookup: judgedLookup(deps),
    signal,
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request: ClientRequest =
    url.protocol === 'https:'
      ? https.request(url, { ...options, rejectUnauthorized: true })
      : http.request(url, options);
  request.on('response', resolve).on('error', reject);
  // An answer that changes the protocol (101) ends the request without `response` or `error`.
  request.on('close', () => reject(new Unanswered())).end(body);
  return promise;
}

const commonHeaders = { accept: 'application/json', 'user-agent': 'Indelible' };

/** Gives the socket exactly the checked addresses. One that is not public refuses the name. */
function judgedLookup({
  allowPrivate,
  resolve = namesOf(allowPrivate),
}: OutboundDeps): LookupFunction {
  return (host, options, callback) => {
    resolve(host).then(
      (found) => {
        const [first] = found;
        const fine = allowPrivate || found.every(({ address }) => isPublicAddress(address));
        if (!first || !fine) callback(new AddressRefused(callFailures.addressPrivate), '');
        else if (options.all) callback(null, [...found]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

const namesOf = (allowPrivate: boolean) => (allowPrivate ? resolveBySystem : resolveByDns());

async function readText(answer: IncomingMessage): Promise<{ text: string; complete: boolean }> {
  const parts: Buffer[] = [];
  let room = answerBytesMax;
  // Leaving the loop destroys the answer, so nothing after the limit is read.
  for await (const part of answer as AsyncIterable<Buffer>) {
    parts.push(part.subarray(0, room));
    room -= part.length;
    if (room < 0) break;
  }
  return { text: Buffer.concat(parts).toString('utf8'), complete: room >= 0 };
}

const lateReason = (timeoutMs: number) => `${callFailures.late} ${timeoutMs / 1_000} s`;

const reasons: Record<string, string> = {
  ECONNREFUSED: callFailures.refused,
  ECONNRESET: callFailures.broken,
  UNANSWERED: callFailures.unanswered,
  ENOTFOUND: callFailures.unresolved,
  EAI_AGAIN: callFailures.unresolved,
  ENODATA: callFailures.unresolved,
  EBADNAME: callFailures.unresolved,
  ESERVFAIL: callFailures.nameServerUnsure,
  EREFUSED: callFailures.nameServerUnsure,
  ETIMEOUT: callFailures.nameServerLate,
  HPE_HEADER_OVERFLOW: callFailures.headersLarge,
};

function failureOf(error: unknown): OutboundResult {
  if (error instanceof AddressRefused) {
    return { kind: 'failed', reason: error.message, mayPass: false };
  }
  const code = codeOf(error) ?? 'unknown';
  // By code only: messages contain addresses and certificates of internal networks.
  const reason = reasons[code] ?? `${callFailures.failed} (${code})`;
  return { kind: 'failed', reason, mayPass: true };
}

/**
 * The stored part of an external text: one line of at most 1 KiB of UTF-8, without control
 * characters.
 */
export function keptText(text: string): string {
  const bytes = Buffer.from(lineOf(text)).subarray(0, keptBytesMax);
  // Drops a character that was cut in two.
  return new TextDecoder().decode(bytes, { stream: true });
}
