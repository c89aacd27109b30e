import type { Sealer } from '../crypto/sealed.ts';
import type { HeaderChanges } from './own-headers.ts';
import type { WebhookRow } from './store.ts';

/** The decrypted secrets, credential and own headers of a webhook. */
interface Opened {
  /** The current one, and the previous one while it is valid. */
  secrets: readonly string[];
  credential: string | null;
  headers: Readonly<Record<string, string>>;
}

/** The context of an encrypted signing secret: its row; also of the former one. */
export const secretContext = (id: string) => `webhook-secret:${id}`;

/** What is sent as it is, and to whom. */
type Sent = Pick<WebhookRow, 'id' | 'url'>;

const credentialName = ({ id }: Sent) => `webhook-credential:${id}`;
const headerName = ({ id }: Sent, name: string) => `webhook-header:${id}:${name}`;

/**
 * Also names the receiver: a writer of the table cannot have a value sent to another one. In front:
 * behind the name it could be taken for the end of a header's name.
 */
const contextOf = (name: string, { url }: Sent) => `${new URL(url).origin} ${name}`;

/** A value of this name; former releases did not bind them to the receiver. */
function openSent(sealer: Sealer, name: string, to: Sent, sealed: Uint8Array): string {
  try {
    return sealer.open(contextOf(name, to), sealed);
  } catch {
    return sealer.open(name, sealed);
  }
}

export function sealCredential(sealer: Sealer, to: Sent, credential: string): Buffer {
  return sealer.seal(contextOf(credentialName(to), to), credential);
}

/**
 * The stored headers after these changes, as JSON text. Each value is sealed alone, so that names
 * can be shown, and a value kept, without opening any.
 */
export function sealHeaders(
  sealer: Sealer,
  { headers, ...to }: Sent & Pick<WebhookRow, 'headers'>,
  changes: HeaderChanges,
): string {
  const stored = new Map<string, string>(Object.entries(JSON.parse(headers)));
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) stored.delete(name);
    else
      stored.set(name, sealer.seal(contextOf(headerName(to, name), to), value).toString('base64'));
  }
  return JSON.stringify(Object.fromEntries([...stored].sort()));
}

function openHeaders(sealer: Sealer, row: WebhookRow): Record<string, string> {
  const sealed: [string, string][] = Object.entries(JSON.parse(row.headers));
  const opened = sealed.map(([name, text]) => {
    return [name, openSent(sealer, headerName(row, name), row, Buffer.from(text, 'base64'))];
  });
  return Object.fromEntries(opened);
}

/**
 * The valid secrets, newest first. Throws if the secret, the credential or a header cannot be
 * decrypted. Skips a former secret that cannot: it may be the reason for the rotation.
 */
export function openSecrets(sealer: Sealer, row: WebhookRow, nowMs: number): Opened {
  const { id, secret, previousSecret, previousSecretUntilMs, credential } = row;
  const isValid = previousSecretUntilMs !== null && previousSecretUntilMs > nowMs;
  const former = previousSecret && isValid ? openIfPossible(sealer, id, previousSecret) : [];
  return {
    secrets: [sealer.open(secretContext(id), secret), ...former],
    credential: credential && openSent(sealer, credentialName(row), row, credential),
    headers: openHeaders(sealer, row),
  };
}

function openIfPossible(sealer: Sealer, id: string, sealed: Uint8Array): string[] {
  try {
    return [sealer.open(secretContext(id), sealed)];
  } catch {
    return [];
  }
}
