import { createHmac, randomBytes } from 'node:crypto';

/** A signed message: the id is the same at every attempt; the body is JSON text, sent unchanged. */
interface SignedMessage {
  id: string;
  body: string;
}

const prefix = 'whsec_';

/** A secret of standardwebhooks.com: `whsec_` and 32 random bytes in base64. */
export function newSecret(): string {
  return `${prefix}${randomBytes(32).toString('base64')}`;
}

/**
 * The headers of standardwebhooks.com (v1, HMAC-SHA256 of `id.timestamp.body`): the timestamp in
 * seconds, one signature for each secret, two during a rotation.
 */
export function signatureHeaders(
  { id, body }: SignedMessage,
  secrets: readonly string[],
  nowMs: number,
): Record<string, string> {
  const timestamp = Math.floor(nowMs / 1_000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`);
    return `v1,${mac.digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

/** A signed POST of JSON for `outbound.ts`. */
export function signedPost(
  url: string,
  message: SignedMessage,
  secrets: readonly string[],
  nowMs: number,
) {
  const headers = {
    'content-type': 'application/json',
    ...signatureHeaders(message, secrets, nowMs),
  };
  return { method: 'POST' as const, url, headers, body: message.body };
}
