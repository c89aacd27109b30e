import { isPanelPath } from '@indelible/protocol';
import { keep, kept } from '../browser-store.ts';

/*
 * What a session leaves to the next one: the address at which it ended, and forms that were not
 * sent. Each is used once, within half an hour, and only for the same person and tenant: an address
 * contains a search, and a form what its reader typed. The next session removes what it cannot use.
 */

const key = 'indelible.left';
export const keptMs = 30 * 60_000;

interface Left {
  owner: string;
  values: Record<string, { value: unknown; atMs: number }>;
}

interface Whose {
  actor: { id: string };
  tenant: { id: string };
}

const ownerOf = ({ actor, tenant }: Whose) => `${actor.id} ${tenant.id}`;

/** Stores a value that JSON can hold. */
export function leave(name: string, value: unknown, session: Whose, nowMs: number): void {
  const owner = ownerOf(session);
  store({ owner, values: { ...fresh(nowMs, owner).values, [name]: { value, atMs: nowMs } } });
}

/** The stored value; undefined if there is none for this session. */
export function leftFor(name: string, session: Whose, nowMs: number): unknown {
  return fresh(nowMs, ownerOf(session)).values[name]?.value;
}

/** Reads what was left, and removes it. */
export function takeLeft(name: string, session: Whose, nowMs: number): unknown {
  const owner = ownerOf(session);
  const { [name]: left, ...values } = fresh(nowMs, owner).values;
  store({ owner, values });
  return left?.value;
}

/** Removes what is too old for any session. */
export function forgetOld(nowMs: number): void {
  store(fresh(nowMs));
}

/** What a session of this owner, or of any, may still use. */
function fresh(nowMs: number, wanted?: string): Left {
  const { owner = '', values = {} } = (kept(key) ?? {}) as Partial<Left>;
  const young = Object.entries(values).filter(([, { atMs }]) => nowMs - atMs < keptMs);
  return { owner, values: (wanted ?? owner) === owner ? Object.fromEntries(young) : {} };
}

function store(left: Left): void {
  keep(key, Object.keys(left.values).length > 0 ? left : null);
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
