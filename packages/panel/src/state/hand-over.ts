/**
 * How a page that embeds the panel signs its reader in: the panel says `{type: 'indelible:ready'}`,
 * the host answers `{type: 'indelible:token', jwt, tenantId?}`.
 */

export interface HandedToken {
  jwt: string;
  tenantId?: string;
}

export function isEmbedded(): boolean {
  return window.parent !== window;
}

/** Tells the host that a token is wanted and listens for it; returns how to stop listening. */
export function handOver(receive: (token: HandedToken) => void): () => void {
  if (!isEmbedded()) return () => {};
  const hear = (event: MessageEvent<unknown>) => {
    const token = isFromHost(event) ? tokenOf(event.data) : null;
    if (token !== null) receive(token);
  };
  window.addEventListener('message', hear);
  // To whoever embeds: it holds nothing, and the policy's frame-ancestors has chosen who that is.
  window.parent.postMessage({ type: 'indelible:ready' }, '*');
  return () => window.removeEventListener('message', hear);
}

/**
 * Only the window around this one counts. It is one of the allowed ancestors, or the browser would
 * not have shown this page in it; where the browser names the ancestors, that is checked again.
 */
function isFromHost({ source, origin }: MessageEvent<unknown>): boolean {
  if (source !== window.parent) return false;
  const ancestors = window.location.ancestorOrigins;
  return ancestors === undefined || ancestors.length === 0 || ancestors[0] === origin;
}

/** The token in a message, or null for any other message. */
export function tokenOf(data: unknown): HandedToken | null {
  if (typeof data !== 'object' || data === null) return null;
  const { type, jwt, tenantId } = data as Record<string, unknown>;
  if (type !== 'indelible:token' || typeof jwt !== 'string') return null;
  return typeof tenantId === 'string' ? { jwt, tenantId } : { jwt };
}
