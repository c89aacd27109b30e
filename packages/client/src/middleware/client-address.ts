import { plainIp } from '@indelible/protocol';

/** Proxies between clients and this server, for frameworks without such a setting. */
export interface ProxyOptions {
  /**
   * The trusted proxies: addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal` (a list, or
   * a comma-separated text), or their number. Without it, or if the peer is not one of them,
   * headers are ignored and the peer is the client.
   */
  trustedProxies?: string | readonly string[] | number;
  /**
   * The header that these proxies write; default `x-forwarded-for`. Never both: a proxy passes on
   * unchanged the header that it does not write.
   */
  proxyHeader?: 'x-forwarded-for' | 'forwarded';
}

/** Reads one header; repeated ones are joined by commas, like standard `Headers`. */
export type HeaderOf = (name: string) => string | null | undefined;

/**
 * Finds the client's address: from the peer to the left through the entries of trusted proxies, up
 * to the first address that is not trusted. Null if unknown. Throws TypeError for invalid proxies.
 */
export function addressFinder(
  options: ProxyOptions,
): (header: HeaderOf, peer: string | null | undefined) => string | null {
  const { trustedProxies = [], proxyHeader = 'x-forwarded-for' } = options;
  const isTrusted = trustOf(trustedProxies);
  const entriesOf = proxyHeader === 'forwarded' ? forwardedEntries : forwardedForEntries;
  return (header, peer) => {
    const text = header(proxyHeader) ?? '';
    const entries = text === '' ? [] : entriesOf(text);
    let address = plainIp(peer);
    // From the right: trusted proxies append at the right end, the client can write the rest.
    for (let hop = 0; isTrusted(address, hop); hop += 1) {
      const entry = entries.pop();
      if (entry === undefined) return address;
      address = plainIp(entry);
    }
    return address;
  };
}

function trustOf(proxies: string | readonly string[] | number) {
  if (Number.isInteger(proxies) && Number(proxies) >= 0) {
    return (_: string | null, hop: number) => hop < Number(proxies);
  }
  const isProxy = proxyRanges(proxies);
  return (address: string | null) => address !== null && isProxy(address);
}

function proxyRanges(proxies: unknown) {
  const ranges =
    typeof proxies === 'string' ? proxies.split(',').map((each) => each.trim()) : proxies;
  // Such as `true`, which in other software trusts every client.
  if (!Array.isArray(ranges)) {
    throw new TypeError('trustedProxies must be addresses and CIDR ranges, or a number of proxies');
  }
  return rangesOf(ranges);
}

const forwardedForEntries = (header: string) => header.split(',');

const forPair = /(?:^|;)\s*for=(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/i;

/** The `for` of each element; '' if a proxy gave none, which must not be skipped. */
function forwardedEntries(header: string): string[] {
  return elementsOf(header).map((text) => {
    const [, quoted, token = ''] = forPair.exec(text.trim()) ?? [];
    return quoted?.replace(/\\(.)/g, '$1') ?? token;
  });
}

/**
 * RFC 7239: commas outside quotes separate elements. Read from the right, where trusted proxies
 * write: an open quote of a client on the left cannot hide them, and is searched only once.
 */
function elementsOf(header: string): string[] {
  const elements: string[] = [];
  let [end, quoted] = [header.length, false];
  for (let at = header.length - 1; at >= 0; at -= 1) {
    if (header[at] === '"' && !(quoted && isEscaped(header, at))) quoted = !quoted;
    if (header[at] !== ',' || quoted) continue;
    elements.push(header.slice(at + 1, end));
    end = at;
  }
  return [...elements, header.slice(0, end)].reverse();
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === '\\') first -= 1;
  return (at - first) % 2 === 1;
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
    throw new TypeError(`trustedProxies: ${range} is neither an IP address nor a CIDR range`);
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
