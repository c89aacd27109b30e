import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';

/** For AUTH_JWT_SECRET. */
export const jwtSecret = 'a shared secret of at least thirty-two bytes';

/** A token of the host product, valid for a day by the clock unless its claims say otherwise. */
export function token(claims: Record<string, unknown>, nowMs = Date.now()): Promise<string> {
  const payload = { sub: randomUUID(), exp: Math.floor(nowMs / 1_000) + 86_400, ...claims };
  const secret = new TextEncoder().encode(jwtSecret);
  return new SignJWT(payload).setProtectedHeader({ alg: 'HS256' }).sign(secret);
}
