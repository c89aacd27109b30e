import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether `text` is an address of the public internet, by the registries of special-purpose
 * addresses (RFC 6890 and what came after it). Everything that another address could hide in is
 * refused too: IPv4-mapped, NAT64, 6to4 and Teredo. False for text that is no address.
 */
export function isPublicAddress(text: string): boolean {
  // Stricter than the parser below, which takes shortened and octal spellings.
  if (isIP(text) === 0) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  // Of IPv6 only this part is handed out; the rest is somebody's own, or nobody's yet.
  return address.kind() === 'ipv4' || address.match(globalUnicast);
}
