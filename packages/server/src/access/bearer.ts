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

const howTo =
  'no valid credential was sent: send the header `Authorization: Bearer` with a complete API key ' +
  'or token that is neither revoked nor expired';

/** One answer for every invalid credential, so that an attacker does not learn the reason. */
export function unauthenticated(detail = howTo): AppError {
  return new AppError('unauthenticated', detail, { headers: { 'www-authenticate': 'Bearer' } });
}
