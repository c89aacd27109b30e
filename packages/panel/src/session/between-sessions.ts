import { isPanelPath } from '@indelible/protocol';
import { keep, kept } from '../browser-store.ts';

/*
 * What a session leaves to the next one: the address at which it ended, and forms that were not
 * sent. Each is used once, within half an hour, and only for the same person and tenant: an address
 * contains a search, and a form what its reader typed.
 */

const keyOf = (name: string) => `indelible.left.${name}`;
const keptMs = 30 * 60_000;

interface Whose {
  actor: { id: string };
  tenant: { id: string };
}

const ownerOf = ({ actor, tenant }: Whose) => `${actor.id} ${tenant.id}`;

/** Stores a value that JSON can hold. */
export function leave(name: string, value: unknown, session: Whose, nowMs: number): void {
  keep(keyOf(name), { value, owner: ownerOf(session), atMs: nowMs });
}

/** Returns and removes the stored value; undefined if there is none for this session. */
export function takeLeft(name: string, session: Whose, nowMs: number): unknown {
  const { value, owner, atMs } = (kept(keyOf(name)) ?? {}) as Record<string, unknown>;
  if (owner !== undefined) keep(keyOf(name), null);
  const isFresh = typeof atMs === 'number' && nowMs - atMs < keptMs;
  return isFresh && owner === ownerOf(session) ? value : undefined;
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
