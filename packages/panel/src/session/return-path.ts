import { isPanelPath } from '@indelible/protocol';
import { keep, kept } from '../browser-store.ts';

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
  keep(key, { href, owner: ownerOf(session), atMs: nowMs });
}

/** Returns and removes the stored address, or null. */
export function takeReturnPath(session: Whose, nowMs: number): string | null {
  const { href, owner, atMs } = (kept(key) ?? {}) as Record<string, unknown>;
  keep(key, null);
  const isFresh = typeof atMs === 'number' && nowMs - atMs < keptMs;
  return isFresh && owner === ownerOf(session) && typeof href === 'string' ? href : null;
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
