/** IP addresses in the one form in which they are stored. Runs anywhere: no Node modules. */

const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const ipv6 = /^(?=.*:)[0-9a-f:.]{2,45}$/i;

/**
 * The form in which the service stores an address: IPv4 as it is, IPv6 after RFC 5952, an IPv4
 * address within an IPv6 one readable (`::ffff:192.0.2.1`). Null for anything else, zones included.
 */
export function canonicalIp(text: string): string | null {
  if (ipv4.test(text)) return text;
  // An address in a URL is parsed and written by one public algorithm, the same in every runtime.
  if (!ipv6.test(text) || !URL.canParse(`http://[${text}]`)) return null;
  const shown = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(shown);
  return mapped ? `::ffff:${dotted(mapped[1], mapped[2])}` : shown;
}

function dotted(high = '', low = ''): string {
  const [upper, lower] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [upper >> 8, upper & 255, lower >> 8, lower & 255].join('.');
}
