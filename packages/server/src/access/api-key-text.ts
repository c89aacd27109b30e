import { randomBytes } from 'node:crypto';
import { typeId, uuidFromTypeId } from '@indelible/protocol';
import { shaOfText } from '../crypto/sha256.ts';

/*
 * The text of an API key: `idl_`, 26 characters of the key's UUID (TypeID base32), `_`, and 32
 * random bytes as 43 characters of base64url. The id finds the row; the hash of the whole text
 * proves the key.
 */

const prefix = 'idl_';
const idLength = prefix.length + 26;
const secretExpression = /^_[A-Za-z0-9_-]{43}$/;

/** A new key for the row with this UUID; only its hash is stored. */
export function newApiKeyText(uuid: string): string {
  return `${typeId(prefix, uuid)}_${randomBytes(32).toString('base64url')}`;
}

/** The UUID in `text`; null if it does not have the form of an API key. */
export function apiKeyUuid(text: string): string | null {
  if (!secretExpression.test(text.slice(idLength))) return null;
  return uuidFromTypeId(prefix, text.slice(0, idLength));
}

/** SHA-256 of the whole key. A slow hash is not needed: 256 random bits cannot be guessed. */
export function hashApiKey(text: string): Uint8Array {
  return shaOfText(text);
}
