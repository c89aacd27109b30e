import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Whether `text` is an IP address, or a network such as `192.0.2.0/24`. */
export function isIpRange(text: string): boolean {
  const [address = '', length] = text.split('/', 2);
  if (isIP(address) === 0 || address.includes('%')) return false;
  if (length === undefined) return text === address;
  return ipaddr.isValidCIDR(text) && networkOf(text)[1] >= 0;
}

/** Whether a key with these networks may be used from `ip`; null: from everywhere. */
export function isAllowedFrom(ranges: readonly string[] | null, ip: string): boolean {
  if (ranges === null) return true;
  if (isIP(ip) === 0) return false;
  // A socket that serves both kinds shows IPv4 as ::ffff:192.0.2.1.
  const address = ipaddr.process(ip);
  return ranges.some((range) => {
    if (!range.includes('/')) return ipaddr.process(range).toString() === address.toString();
    const [network, length] = networkOf(range);
    return network.kind() === address.kind() && address.match(network, length);
  });
}

/**
 * What counts as one caller: an IPv4 address, or the /64 network of an IPv6 address. A single
 * machine has all addresses of such a network.
 */
export function addressBlock(ip: string): string {
  if (isIP(ip) === 0) return ip;
  const address = ipaddr.process(ip);
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString();
}

/** An IPv4 network also where it is written as IPv6; its length is then below 0 if it is wider. */
function networkOf(range: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const [network, length] = ipaddr.parseCIDR(range);
  if (!(network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress())) return [network, length];
  return [network.toIPv4Address(), length - 96];
}
