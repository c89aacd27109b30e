import { equalBytes } from '@indelible/protocol';
import type { Config } from '../config.ts';
import { openPresentSigner, type Signer, signingKeyFileOf } from '../crypto/signer.ts';
import { newerKey } from './guard.ts';
import { type PublishedRound, roundName } from './round.ts';

/**
 * Opens this installation's key, given the one in use, if any; null if there is none yet. Throws a
 * sentence for a key that must not sign.
 */
export type OpenSigner = (keyInUse: Uint8Array | null) => Promise<Signer | null>;

/**
 * A reopening is signed with the key of this installation. As everywhere, a default key does not
 * replace another one; and no key is generated if the logs are signed already.
 */
export function reopeningSigner(config: Config): OpenSigner {
  return async (keyInUse) => {
    const { path, isNamed } = signingKeyFileOf(config);
    const signer = openPresentSigner(config);
    if (signer === null || isNamed || keyInUse === null) return signer;
    if (equalBytes(keyInUse, await signer.publicKey())) return signer;
    throw new Error(
      `${path} is not the key in use, which must sign the reopening: set SIGNING_KEY_FILE ` +
        'to that key',
    );
  };
}

/**
 * A backup from before a key rotation lists the old key as current, which may have been stolen
 * since. A key that the database never had is accepted, because the newest one may be lost.
 */
export async function requireNewestKey(
  newest: PublishedRound | null,
  signer: Signer | null,
  former: readonly { publicKey: Uint8Array }[],
): Promise<void> {
  const signing = await signer?.publicKey();
  const isNew = signing && !former.some(({ publicKey }) => equalBytes(publicKey, signing));
  if (newest === null || newest.isKnown || isNew) return;
  throw new Error(`${roundName(newest.round)} is ${newerKey}, or to a new one if that is lost`);
}
