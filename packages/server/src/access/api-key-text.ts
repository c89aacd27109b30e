import { typeId, uuidFromTypeId } from '@indelible/protocol';
import { newSecretToken } from '../crypto/secret-token.ts';

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
  return `${typeId(prefix, uuid)}_${newSecretToken()}`;
}

/** The UUID in `text`; null if it does not have the form of an API key. */
export function apiKeyUuid(text: string): string | null {
  if (!secretExpression.test(text.slice(idLength))) return null;
  return uuidFromTypeId(prefix, text.slice(0, idLength));
}
