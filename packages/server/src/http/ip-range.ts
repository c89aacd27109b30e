import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Whether `text` is an IP address, or a network such as `192.0.2.0/24`. */
export function isIpRange(text: string): boolean {
  const [address = '', length] = text.split('/', 2);
  if (isIP(address) === 0 || address.includes('%')) return false;
  return length === undefined ? text === address : ipaddr.isValidCIDR(text);
}

/** Whether a key with these networks may be used from `ip`; null: from everywhere. */
export function isAllowedFrom(ranges: readonly string[] | null, ip: string): boolean {
  if (ranges === null) return true;
  if (isIP(ip) === 0) return false;
  // A socket that serves both kinds shows IPv4 as ::ffff:192.0.2.1.
  const address = ipaddr.process(ip);
  return ranges.some((range) => {
    const [network, length] = range.includes('/')
      ? ipaddr.parseCIDR(range)
      : [ipaddr.process(range), null];
    if (network.kind() !== address.kind()) return false;
    return address.match(network, length ?? (address.kind() === 'ipv4' ? 32 : 128));
  });
}
