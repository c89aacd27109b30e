import { parseBase64, parseStrictJson } from '@indelible/protocol';
import type { WebhookMessage } from './messages.ts';

interface FetchHeaders {
  get(name: string): string | null;
}

/** Headers of the Fetch API, or an object as in Node. */
export type WebhookHeaders =
  | FetchHeaders
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface WebhookOptions {
  /** The largest difference between timestamp and now, in either direction; default 300. */
  toleranceSeconds?: number;
  /** Milliseconds since 1970; default: the clock. */
  now?: number;
}

/** A message with a valid signature and a recent timestamp. */
export interface VerifiedWebhook {
  /** `webhook-id`, the same at every attempt: use it to recognise repeated messages. */
  id: string;
  message: WebhookMessage;
}

/**
 * Checks a message by standardwebhooks.com (v1: HMAC-SHA256 of `id.timestamp.body`), in constant
 * time. `body` must be the request's unparsed body. `secrets` are `whsec_…`, several during a
 * rotation. Throws WebhookVerificationError for a message that is not accepted, and TypeError for
 * an invalid secret or a parsed body.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  options: WebhookOptions = {},
): Promise<VerifiedWebhook> {
  const id = await verifySignature(body, headers, secrets, options);
  return { id, message: messageOf(body) };
}

/**
 * The same without reading the body, for streams of the format `generic`, whose bodies are lists or
 * lines of events. Returns `webhook-id`, and throws like `verifyWebhook`.
 */
export async function verifySignature(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = 300, now = Date.now() }: WebhookOptions = {},
): Promise<string> {
  const keys = [secrets].flat().map(keyBytesOf);
  if (keys.length === 0) throw new TypeError('no webhook secret is set');
  requireRaw(body);
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = signaturesIn(headerOf(headers, 'webhook-signature'));
  requireRecent(timestamp, toleranceSeconds, now);
  const content = contentOf(`${id}.${timestamp}.`, body);
  if (!(await isSigned(content, keys, signatures))) {
    const message =
      'no signature matches a secret: check that the secrets belong to this webhook and ' +
      'that the body is exactly as it arrived';
    throw new WebhookVerificationError('wrong_signature', message);
  }
  return id;
}

const secretPrefix = 'whsec_';

function keyBytesOf(secret: unknown): Uint8Array {
  // At run time an unset variable is not a string.
  const text = typeof secret === 'string' ? secret : '';
  const base64 = text.startsWith(secretPrefix) ? text.slice(secretPrefix.length) : text;
  const bytes = parseBase64(base64);
  if (bytes !== null && bytes.length > 0) return bytes;
  throw new TypeError('a webhook secret must be whsec_ and base64; check where yours is read from');
}

function requireRaw(body: unknown): void {
  if (typeof body === 'string' || ArrayBuffer.isView(body)) return;
  throw new TypeError('the body must be the text or bytes that arrived, not a parsed object');
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const found = isFetchHeaders(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  // Some servers give every header as a list. With two values, the valid one is unknown.
  const [value, another] = [found ?? []].flat();
  if (typeof value === 'string' && value !== '' && another === undefined) return value;
  throw new WebhookVerificationError('missing_header', `the message has no header ${name}`);
}

const isFetchHeaders = (headers: WebhookHeaders): headers is FetchHeaders =>
  typeof headers.get === 'function';

const signatureTextMax = 8 * 1024;

/** Signatures of version 1; others may come with later versions. */
function signaturesIn(header: string): Uint8Array[] {
  if (header.length > signatureTextMax) {
    throw new WebhookVerificationError('malformed_header', 'webhook-signature is too long');
  }
  const texts = header.split(' ').filter((each) => each.startsWith('v1,'));
  return texts.flatMap((each) => parseBase64(each.slice(3)) ?? []);
}

function requireRecent(timestamp: string, toleranceSeconds: number, now: number): void {
  if (!/^\d{1,12}$/.test(timestamp)) {
    const message = 'webhook-timestamp is not a number of seconds since 1970';
    throw new WebhookVerificationError('malformed_header', message);
  }
  const age = Math.floor(now / 1_000) - Number(timestamp);
  // Written so that a tolerance of NaN refuses every message.
  if (Math.abs(age) <= toleranceSeconds) return;
  const [code, side] = age > 0 ? (['too_old', 'old'] as const) : (['too_new', 'ahead'] as const);
  const message = `the message is ${Math.abs(age)} s ${side}, and ${toleranceSeconds} s are tolerated`;
  throw new WebhookVerificationError(code, `${message}: is the clock right?`);
}

const utf8 = new TextEncoder();

function contentOf(start: string, body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const head = utf8.encode(start);
  const bytes = typeof body === 'string' ? utf8.encode(body) : body;
  const content = new Uint8Array(head.length + bytes.length);
  content.set(head);
  content.set(bytes, head.length);
  return content;
}

/** Each secret signs once, however many signatures the message has. */
async function isSigned(
  content: Uint8Array<ArrayBuffer>,
  keys: readonly Uint8Array[],
  signatures: readonly Uint8Array[],
): Promise<boolean> {
  const { subtle } = globalThis.crypto;
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  for (const bytes of keys) {
    const key = await subtle.importKey('raw', new Uint8Array(bytes), algorithm, false, ['sign']);
    const expected = new Uint8Array(await subtle.sign('HMAC', key, content));
    if (signatures.some((signature) => areSame(expected, signature))) return true;
  }
  return false;
}

/** In constant time. */
function areSame(expected: Uint8Array, given: Uint8Array): boolean {
  if (given.length !== expected.length) return false;
  let difference = 0;
  for (const [at, byte] of expected.entries()) difference |= byte ^ (given[at] ?? 0);
  return difference === 0;
}

/** Parses only after the signature was checked, so untrusted text never reaches the parser. */
function messageOf(body: string | Uint8Array): WebhookMessage {
  try {
    const { value, duplicateKeys } = parseStrictJson(body);
    const { type } = value as { type?: unknown };
    if (typeof type === 'string' && duplicateKeys.length === 0) return value as WebhookMessage;
  } catch {
    // Thrown below without the parser's message, which may quote the body.
  }
  const message = 'the body is signed, but is not a JSON object with a type';
  throw new WebhookVerificationError('malformed_body', message);
}

/**
 * Why a message is not accepted. Codes are stable:
 * - `missing_header`: webhook-id, webhook-timestamp or webhook-signature is absent
 * - `malformed_header`: one of them has a wrong form
 * - `too_old`, `too_new`: the timestamp is outside the tolerance
 * - `wrong_signature`: no signature matches a secret
 * - `malformed_body`: signed, but not a JSON object with a `type`
 */
export type WebhookErrorCode =
  | 'missing_header'
  | 'malformed_header'
  | 'too_old'
  | 'too_new'
  | 'wrong_signature'
  | 'malformed_body';

/** The message must be ignored: answer 401. The error text contains no secret. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly code: WebhookErrorCode;

  constructor(code: WebhookErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
