import { NODATA, Resolver } from 'node:dns/promises';

export type Resolve = (host: string) => Promise<readonly { address: string; family: number }[]>;

interface NameServers {
  /** `address:port`; default: the system's. */
  servers?: readonly string[];
  /** The wait of the first query; the second and last one waits twice as long. */
  timeoutMs?: number;
}

/**
 * Addresses of a name by DNS only, IPv4 first. The system's look-up also knows the machine's
 * private names, but has two threads for the whole process. Names of one tenant whose servers never
 * answer would block the calls of all others. Throws the resolver's error, with its code.
 */
export function resolveByDns({ servers, timeoutMs = 2_000 }: NameServers = {}): Resolve {
  return async (host) => {
    const resolver = new Resolver({ timeout: timeoutMs, tries: 2 });
    if (servers) resolver.setServers(servers);
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
    if (found.length > 0) return found;
    // An alias of a name without addresses is no error to the resolver.
    throw v4.status === 'rejected' ? v4.reason : Object.assign(new Error(), { code: NODATA });
  };
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6) {
  const addresses = answer.status === 'fulfilled' ? answer.value : [];
  return addresses.map((address) => ({ address, family }));
}
