import { isPanelPath } from '@indelible/protocol';

/**
 * The address at which a session ended; the next sign-in returns to it. Stored for half an hour and
 * used only for the same person and tenant, because an address contains a search.
 */

const key = 'indelible.return';
const keptMs = 30 * 60_000;

interface Whose {
  actor: { id: string };
  tenant: { id: string };
}

const ownerOf = ({ actor, tenant }: Whose) => `${actor.id} ${tenant.id}`;

export function keepReturnPath(href: string, session: Whose, nowMs: number): void {
  try {
    localStorage.setItem(key, JSON.stringify({ href, owner: ownerOf(session), atMs: nowMs }));
  } catch {}
}

/** Returns and removes the stored address, or null. */
export function takeReturnPath(session: Whose, nowMs: number): string | null {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? 'null');
    localStorage.removeItem(key);
    const fits = kept?.owner === ownerOf(session) && nowMs - kept.atMs < keptMs;
    return fits && typeof kept.href === 'string' ? kept.href : null;
  } catch {
    return null;
  }
}

/**
 * The host's sign-in page, told in `return_to` which page of the panel the reader wants. It is a
 * path and never a URL, so a host that redirects to it cannot be led to another site. Left out
 * where a viewer link would refuse it.
 */
export function signInHref(signInUrl: string, path: string): string {
  const url = new URL(signInUrl);
  if (isPanelPath(path)) url.searchParams.set('return_to', path);
  return url.href;
}
