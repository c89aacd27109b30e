import type { Sealer } from '../crypto/index.ts';
import type { Opened } from './delivery-call.ts';
import type { WebhookRow } from './store.ts';

/** Names the row that a sealed signing secret belongs to; the former one keeps its seal. */
export const secretContext = (id: string) => `webhook-secret:${id}`;
export const credentialContext = (id: string) => `webhook-credential:${id}`;

/**
 * The secrets that are valid now, newest first. Throws when secret or credential cannot be opened;
 * a former secret of which that is true is left out, because it may be why there is another one.
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
