import { plainIp, rangesOf } from './ip-address.ts';

/** What stands between clients and this server, for frameworks that do not decide it themselves. */
export interface ProxyOptions {
  /**
   * The proxies in front: addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal` (a list,
   * or one text with commas), or how many there are in a row. Without it, or when the peer is none
   * of them, headers are ignored and the peer is the client.
   */
  trustedProxies?: string | readonly string[] | number;
  /**
   * The one header that these proxies write; `x-forwarded-for` unless given. Never both: a proxy
   * passes on the one it does not write as the client sent it.
   */
  proxyHeader?: 'x-forwarded-for' | 'forwarded';
}

/** Reads one header; several of one name are joined by commas, as the standard `Headers` does. */
export type HeaderOf = (name: string) => string | null | undefined;

/**
 * Finds the client's address: from the peer leftwards through what each
 * trusted proxy added, to the first address that is none of theirs.
 * Null when it is not known. Throws TypeError for wrong proxies.
 */
export function addressFinder(
  options: ProxyOptions,
): (header: HeaderOf, peer: string | null | undefined) => string | null {
  const { trustedProxies = [], proxyHeader = 'x-forwarded-for' } = options;
  const isTrusted = trustOf(trustedProxies);
  const entriesOf = proxyHeader === 'forwarded' ? forwardedEntries : forwardedForEntries;
  return (header, peer) => {
    const entries = entriesOf(header(proxyHeader) ?? '');
    let address = plainIp(peer);
    // From the right: only what a trusted proxy wrote is believed, and it wrote at the right end.
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
  // Such as `true`, with which other software believes whatever a client writes.
  if (!Array.isArray(ranges)) {
    throw new TypeError('trustedProxies must be addresses and CIDR ranges, or a number of proxies');
  }
  try {
    return rangesOf(ranges);
  } catch (error) {
    throw new TypeError(`trustedProxies: ${(error as Error).message}`);
  }
}

function forwardedForEntries(header: string): string[] {
  return header === '' ? [] : header.split(',');
}

const forPair = /(?:^|;)\s*for=(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/i;

/** The `for` of each element; '' where a proxy gave none, which is not passed over. */
function forwardedEntries(header: string): string[] {
  return elementsOf(header).map((text) => {
    const [, quoted, token = ''] = forPair.exec(text.trim()) ?? [];
    return quoted?.replace(/\\(.)/g, '$1') ?? token;
  });
}

/**
 * RFC 7239: elements are divided by commas outside quotes. Read from
 * the right, where the trusted ones are: a quote that a stranger leaves
 * open on the left swallows none of them, and is looked for only once.
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
