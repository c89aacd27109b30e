import type { Sealer } from '../crypto/index.ts';
import type { Opened } from './delivery-call.ts';
import type { WebhookRow } from './store.ts';

/** The context of an encrypted signing secret: its row; also of the former one. */
export const secretContext = (id: string) => `webhook-secret:${id}`;
export const credentialContext = (id: string) => `webhook-credential:${id}`;

/**
 * The valid secrets, newest first. Throws if secret or credential cannot be decrypted; skips such a
 * former secret, because it may be the reason for the rotation.
 */
export function openSecrets(sealer: Sealer, row: WebhookRow, nowMs: number): Opened {
  const { id, secret, previousSecret, previousSecretUntilMs, credential } = row;
  const isValid = previousSecretUntilMs !== null && previousSecretUntilMs > nowMs;
  const former = previousSecret && isValid ? openIfPossible(sealer, id, previousSecret) : [];
  return {
    secrets: [sealer.open(secretContext(id), secret), ...former],
    credential: credential && sealer.open(credentialContext(id), credential),
  };
}

function openIfPossible(sealer: Sealer, id: string, sealed: Uint8Array): string[] {
  try {
    return [sealer.open(secretContext(id), sealed)];
  } catch {
    return [];
  }
}
