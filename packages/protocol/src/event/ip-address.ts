/* IP addresses in their stored form. No Node modules, so it runs in browsers. */

const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const ipv6 = /^(?=.*:)[0-9a-f:.]{2,45}$/i;

/**
 * The stored form of an address: IPv4 unchanged, also where a socket for both kinds writes it as
 * `::ffff:192.0.2.1`; IPv6 by RFC 5952. Null for any other text.
 */
export function canonicalIp(text: string): string | null {
  if (ipv4.test(text)) return text;
  // The URL standard defines how addresses are parsed and written, the same in every runtime.
  if (!ipv6.test(text) || !URL.canParse(`http://[${text}]`)) return null;
  const shown = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(shown);
  return mapped ? dotted(mapped[1], mapped[2]) : shown;
}

function dotted(high = '', low = ''): string {
  const [upper, lower] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [upper >> 8, upper & 255, lower >> 8, lower & 255].join('.');
}

/** The longest text that is searched for an address. */
const addressCharactersMax = 1_024;

/**
 * The stored form of an address as sockets, proxies and logs write it: without white space around
 * it, brackets, port or zone; of a list with commas the first one. Null if that is no address.
 */
export function plainIp(text: string | null | undefined): string | null {
  const [first = ''] = (text ?? '').slice(0, addressCharactersMax).split(',');
  const address = first.trim();
  const [, bracketed, v4] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(address) ?? [];
  return canonicalIp((bracketed ?? v4 ?? address).replace(/%.*$/, ''));
}
