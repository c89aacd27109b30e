/**
 * How a page that embeds the panel signs its reader in: the panel says `{type: 'indelible:ready'}`,
 * the host answers `{type: 'indelible:token', jwt, tenantId?}`. Both only between this origin and
 * those that the service's FRAME_ANCESTORS names.
 */

export interface HandedToken {
  jwt: string;
  tenantId?: string;
}

export function isEmbedded(): boolean {
  return window.parent !== window;
}

/**
 * Tells the host that a token is wanted and listens for it; returns how to stop listening.
 * `allowedHosts` are the origins that may hand one over.
 */
export function handOver(
  allowedHosts: () => Promise<readonly string[]>,
  receive: (token: HandedToken) => void,
): () => void {
  if (!isEmbedded()) return () => {};
  let hosts: readonly string[] = [];
  const hear = ({ source, origin, data }: MessageEvent<unknown>) => {
    if (source !== window.parent || !hosts.includes(origin)) return;
    const token = tokenOf(data);
    if (token !== null) receive(token);
  };
  window.addEventListener('message', hear);
  // Without an answer the panel trusts no host, and shows the other ways to sign in.
  allowedHosts().then(
    (allowed) => {
      hosts = allowed;
      for (const host of hostsToTell(hosts)) {
        window.parent.postMessage({ type: 'indelible:ready' }, host);
      }
    },
    () => {},
  );
  return () => window.removeEventListener('message', hear);
}

/** The one that embeds this page where the browser says so, else all that may. */
function hostsToTell(hosts: readonly string[]): readonly string[] {
  const parent = window.location.ancestorOrigins?.[0];
  return parent === undefined ? hosts : hosts.filter((host) => host === parent);
}

/** The token in a message, or null for any other message. */
export function tokenOf(data: unknown): HandedToken | null {
  if (typeof data !== 'object' || data === null) return null;
  const { type, jwt, tenantId } = data as Record<string, unknown>;
  if (type !== 'indelible:token' || typeof jwt !== 'string') return null;
  return typeof tenantId === 'string' ? { jwt, tenantId } : { jwt };
}
