/** IP addresses in their stored form. No Node modules, so it runs in browsers. */

const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const ipv6 = /^(?=.*:)[0-9a-f:.]{2,45}$/i;

/**
 * The stored form of an address: IPv4 unchanged, IPv6 by RFC 5952, an IPv4 address inside IPv6 in
 * dotted form (`::ffff:192.0.2.1`). Null for any other text, also for zones.
 */
export function canonicalIp(text: string): string | null {
  if (ipv4.test(text)) return text;
  // The URL standard defines how addresses are parsed and written, the same in every runtime.
  if (!ipv6.test(text) || !URL.canParse(`http://[${text}]`)) return null;
  const shown = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(shown);
  return mapped ? `::ffff:${dotted(mapped[1], mapped[2])}` : shown;
}

function dotted(high = '', low = ''): string {
  const [upper, lower] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [upper >> 8, upper & 255, lower >> 8, lower & 255].join('.');
}
