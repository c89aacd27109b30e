import { createHash, randomBytes } from 'node:crypto';

/** The secret of a viewer link or a session: 43 characters of base64url for 32 random bytes. */
export function newSecretToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * SHA-256 of a token; only this is stored. A slow hash is not needed: 256 random bits cannot be
 * guessed.
 */
export function hashSecretToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
