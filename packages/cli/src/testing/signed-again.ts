import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Checkpoint, formatCheckpoint, formatNote, noteKeyId } from '@indelible/protocol';
import { sha } from '../verify/hashing.ts';
import type { VerifiedService } from './verified-service.ts';

/** A note over a checkpoint, signed with the service's key, as by a thief of the key. */
export function signedAgain({ service }: VerifiedService, checkpoint: Checkpoint): string {
  const key = createPrivateKey(readFileSync(join(service.dataDir, 'signing-key.pem'), 'utf8'));
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const name = checkpoint.origin;
  const keyId = noteKeyId(sha, name, new Uint8Array(spki.subarray(-32)));
  const text = formatCheckpoint(checkpoint);
  const signature = new Uint8Array(sign(null, Buffer.from(text), key));
  return formatNote(text, [{ name, keyId, signature }]);
}
