import { randomBytes } from 'node:crypto';
import { shaOfText } from './sha256.ts';

/** The secret of a key, link or session: 43 characters of base64url for 32 random bytes. */
export function newSecretToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * SHA-256 of a token; only this is stored. A slow hash is not needed: 256 random bits cannot be
 * guessed.
 */
export const hashSecretToken: (token: string) => Uint8Array = shaOfText;
