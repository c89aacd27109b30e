import { typeId, uuidFromTypeId } from '@indelible/protocol';
import { newSecretToken } from '../crypto/secret-token.ts';
import { AppError } from '../http/problem.ts';

/**
 * The token of `Authorization: Bearer <token>` (RFC 6750 section 2.1; scheme in any case). Throws
 * `unauthenticated` for an absent header, another scheme, or a malformed token.
 */
export function bearerToken(authorization: string | undefined): string {
  const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) throw unauthenticated();
  return token;
}

/** One answer for every invalid credential, so that an attacker does not learn the reason. */
export function unauthenticated(detail?: string): AppError {
  return new AppError('unauthenticated', detail, { headers: { 'www-authenticate': 'Bearer' } });
}

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
