import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether `text` is an address of the public internet, by the registries of special-purpose
 * addresses (RFC 6890 and later). Also refuses addresses that can embed another one: IPv4-mapped,
 * NAT64, 6to4 and Teredo. False for text that is not an address.
 */
export function isPublicAddress(text: string): boolean {
  // Stricter than the parser below, which accepts shortened and octal spellings.
  if (isIP(text) === 0) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  // This range alone of IPv6 is assigned publicly.
  return address.kind() === 'ipv4' || address.match(globalUnicast);
}
