export const outboundUrlMax = 2_048;

/** The names of this machine in URLs. */
export const loopback = ['127.0.0.1', '[::1]', 'localhost'];

/**
 * Whether a tenant may configure this URL: absolute https (http only on loopback, unless
 * `anyHttp`), printable ASCII, at most 2,048 characters, without user name or password, because the
 * URL is shown. Reachable addresses are checked at the connection.
 */
export function isOutboundUrl(text: string, anyHttp = false): boolean {
  // The URL parser would silently drop tabs, line breaks and surrounding spaces.
  if (text.length > outboundUrlMax || !/^https?:\/\/[\x21-\x7e]+$/i.test(text)) return false;
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false;
  return anyHttp || protocol === 'https:' || loopback.includes(hostname);
}
