/**
 * How an embedding page signs its reader in: the panel sends `{type: 'indelible:ready'}`, the host
 * answers `{type: 'indelible:token', jwt, tenantId?}`. Only between this origin and the origins in
 * the service's FRAME_ANCESTORS.
 */

export interface HandedToken {
  jwt: string;
  tenantId?: string;
}

export function isEmbedded(): boolean {
  return window.parent !== window;
}

/**
 * Requests a token from the host and listens for it; returns the function that stops listening.
 * Only the origins `allowedHosts` may send one.
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
  // Without an answer the panel trusts no host and shows the other ways to sign in.
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

/** The embedding origin if the browser shows it, else all allowed ones. */
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
