import { plainIp, rangesOf } from '../rules/ip-address.ts';

/** What stands between clients and this server, for frameworks that do not decide it themselves. */
export interface ProxyOptions {
  /**
   * The proxies in front: addresses and CIDR ranges, or how many there are in a row. Without it, or
   * when the peer is none of them, headers are ignored and the peer is the client.
   */
  trustedProxies?: readonly string[] | number;
  /**
   * The one header that these proxies write; `x-forwarded-for` unless given. Never both: a proxy
   * passes on the one it does not write as the client sent it.
   */
  proxyHeader?: 'x-forwarded-for' | 'forwarded';
}

/** Reads one header; several of one name are joined by commas, as the standard `Headers` does. */
export type HeaderOf = (name: string) => string | null | undefined;

/**
 * Finds the client's address: from the peer leftwards through what each trusted proxy added, to the
 * first address that is none of theirs. Null when it is not known. Throws TypeError for wrong ranges.
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

function trustOf(proxies: readonly string[] | number) {
  if (typeof proxies === 'number') return (_: string | null, hop: number) => hop < proxies;
  const isProxy = rangesOf(proxies);
  return (address: string | null) => address !== null && isProxy(address);
}

function forwardedForEntries(header: string): string[] {
  return header === '' ? [] : header.split(',');
}

// RFC 7239: elements and their pairs are divided by commas and semicolons outside quotes.
const element = /(?:"(?:[^"\\]|\\.)*"|[^,"])+/g;
const forPair = /(?:^|;)\s*for=(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/i;

/** The `for` of each element; '' where a proxy gave none, which is not passed over. */
function forwardedEntries(header: string): string[] {
  return (header.match(element) ?? []).map((text) => {
    const [, quoted, token = ''] = forPair.exec(text.trim()) ?? [];
    return quoted?.replace(/\\(.)/g, '$1') ?? token;
  });
}
