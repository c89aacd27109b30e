import { canonicalIp } from '@indelible/protocol';

/** Addresses as sockets, proxies and configuration write them. No Node modules. */

/**
 * A client's address for an event, or null: without port, brackets or zone; IPv4 in dotted form,
 * also if a dual-stack socket writes `::ffff:192.0.2.1`.
 */
export function plainIp(text: string | null | undefined): string | null {
  const [, bracketed, v4] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text?.trim() ?? '') ?? [];
  const bare = (bracketed ?? v4 ?? text?.trim() ?? '').replace(/%.*$/, '');
  const address = canonicalIp(bare);
  return address?.replace(/^::ffff:(?=\d+\.)/, '') ?? null;
}

/** Names of ranges, as in Express. */
const namedRanges = new Map([
  ['loopback', ['127.0.0.0/8', '::1']],
  ['linklocal', ['169.254.0.0/16', 'fe80::/10']],
  ['uniquelocal', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
]);

/**
 * Returns a test whether an address is in one of these ranges: addresses, CIDR ranges, `loopback`,
 * `linklocal`, `uniquelocal`. Throws TypeError for other texts.
 */
export function rangesOf(ranges: readonly string[]): (address: string) => boolean {
  const parsed = ranges.flatMap((range) => namedRanges.get(range) ?? [range]).map(rangeOf);
  return (address) => {
    const bits = bitsOf(address);
    return parsed.some((prefix) => bits.startsWith(prefix));
  };
}

/** The common prefix bits of `10.0.0.0/8`, `2001:db8::/32` or `192.0.2.1`. */
function rangeOf(range: string): string {
  const [text = '', length] = String(range).split('/');
  const address = plainIp(text);
  const lengthMax = address?.includes(':') ? 128 : 32;
  const bits = length === undefined ? lengthMax : Number(length);
  const isRange = /^\d+$/.test(length ?? '0') && bits <= lengthMax;
  if (address === null || !isRange || String(range).split('/').length > 2) {
    throw new TypeError(`${range} is neither an IP address nor a CIDR range`);
  }
  return bitsOf(address).slice(0, 128 - lengthMax + bits);
}

/** 128 characters 0 and 1; IPv4 in its IPv6-mapped form, so the two cannot be confused. */
function bitsOf(address: string): string {
  const [head = '', tail] = asIpv6(address).split('::');
  const [first, last] = [groupsOf(head), groupsOf(tail ?? '')];
  const zeros = Array<string>(8 - first.length - last.length).fill('0');
  const groups = tail === undefined ? first : [...first, ...zeros, ...last];
  return groups.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0')).join('');
}

function asIpv6(address: string): string {
  if (address.includes(':')) return address;
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return `::ffff:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

const groupsOf = (text: string) => (text === '' ? [] : text.split(':'));
