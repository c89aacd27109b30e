import type { Config } from '../config.ts';
import { loopback } from '../outbound/outbound-url.ts';

/** Name and attributes of the session's cookie, by the configuration. */
export interface SessionCookie {
  name: string;
  /** The part after `name=value` in Set-Cookie. */
  attributes: string;
}

/**
 * Off loopback the cookie is `Secure` with the prefix `__Host-`: no other host, and no page without
 * TLS, can set it. It is `SameSite=Strict`, which suffices for a panel outside frames, because the
 * page itself needs no cookie and sends all requests itself. In a frame of another site such a
 * cookie is not sent. So with FRAME_ANCESTORS it is `SameSite=None` and `Partitioned`: the browser
 * keeps one for each embedding site and sends it to no other. Its name differs: the browser sends a
 * cookie from before FRAME_ANCESTORS was set beside it, and `readCookie` takes none of two.
 */
export function sessionCookie(config: Pick<Config, 'publicUrl' | 'frameAncestors'>): SessionCookie {
  const url = config.publicUrl === null ? null : new URL(config.publicUrl);
  // Without PUBLIC_URL only this machine can reach the service.
  const secure = url !== null && (url.protocol === 'https:' || !loopback.includes(url.hostname));
  const embedded = secure && config.frameAncestors.some((source) => source !== "'self'");
  const attributes = [
    'Path=/',
    'HttpOnly',
    ...(secure ? ['Secure'] : []),
    ...(embedded ? ['SameSite=None', 'Partitioned'] : ['SameSite=Strict']),
  ];
  const name = embedded ? 'indelible_embedded' : 'indelible_session';
  return { name: secure ? `__Host-${name}` : name, attributes: attributes.join('; ') };
}

/** The Set-Cookie header of a new session; the browser deletes it when it closes. */
export function setCookie({ name, attributes }: SessionCookie, token: string): string {
  return `${name}=${token}; ${attributes}`;
}

/** The Set-Cookie header that deletes it. */
export function clearCookie({ name, attributes }: SessionCookie): string {
  return `${name}=; ${attributes}; Max-Age=0`;
}

/**
 * The session's token in a Cookie header (RFC 6265 section 4.2.1). Null without one, and null if
 * there are two: one of them was planted.
 */
export function readCookie({ name }: SessionCookie, header: string | undefined): string | null {
  const values = (header ?? '').split(';').flatMap((pair) => {
    const [key, value] = pair.trim().split(/=(.*)/s);
    return key === name && value !== undefined ? [value] : [];
  });
  const [value, ...more] = values;
  return value === undefined || more.length > 0 ? null : value;
}
