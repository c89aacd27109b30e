import { createHash, randomBytes } from 'node:crypto';
import { typeId, uuidFromTypeId } from '@indelible/protocol';

/*
 * An API key's text: `idl_`, 26 characters of the key's UUID (TypeID
 * base32), `_`, and 43 characters of base64url for 32 random bytes.
 * The id finds the row; the hash of the whole text proves the key.
 */

const prefix = 'idl_';
const idLength = prefix.length + 26;
const secretExpression = /^_[A-Za-z0-9_-]{43}$/;

/** A new key for the row with this UUID; nothing but its hash is ever stored. */
export function newApiKeyText(uuid: string): string {
  return `${typeId(prefix, uuid)}_${randomBytes(32).toString('base64url')}`;
}

/** The UUID that `text` names, or null when it does not have the form of an API key. */
export function apiKeyUuid(text: string): string | null {
  if (!secretExpression.test(text.slice(idLength))) return null;
  return uuidFromTypeId(prefix, text.slice(0, idLength));
}

/** SHA-256 of the whole key. No slow hash is needed: 256 random bits cannot be guessed. */
export function hashApiKey(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
