export const outboundUrlMax = 2_048;

const loopback = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Whether the service may be told to call `text`: an absolute https URL (http
 * only on loopback, unless `anyHttp`) of printable ASCII, at most 2,048
 * characters, without a user name or password, which would be shown wherever
 * the URL is. Which addresses it may reach is judged when it connects.
 */
export function isOutboundUrl(text: string, anyHttp = false): boolean {
  // The URL parser would silently drop tabs, line breaks and surrounding spaces.
  if (text.length > outboundUrlMax || !/^https?:\/\/[\x21-\x7e]+$/i.test(text)) return false;
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false;
  return anyHttp || protocol === 'https:' || loopback.includes(hostname);
}
