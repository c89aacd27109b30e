import { loopback } from '../outbound/outbound-url.ts';

/**
 * Whether an Origin header (RFC 6454 section 7) names the service itself. A service without
 * PUBLIC_URL listens on loopback, which has three names; all of them at its port are its own.
 */
export function isOwnOrigin(
  origin: string | undefined,
  own: { publicUrl: string | null; listening: string },
): boolean {
  if (origin === undefined || !URL.canParse(origin)) return false;
  if (own.publicUrl !== null) return origin === new URL(own.publicUrl).origin;
  const { protocol, port } = new URL(own.listening);
  const suffix = port === '' ? '' : `:${port}`;
  return loopback.some((host) => origin === `${protocol}//${host}${suffix}`);
}

/**
 * Whether a foreign page caused the request (Fetch Metadata, `Sec-Fetch-Site`). For browsers
 * without that header only the cookie's SameSite and the Origin header count.
 */
export function isForeignRequest(site: string | string[] | undefined): boolean {
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}
