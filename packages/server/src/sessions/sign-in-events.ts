import { formatTimestamp } from '@indelible/protocol';
import type { OwnEvent } from '../own-event.ts';
import type { StoredSession, ViewerLink, Visitor } from './store.ts';

/*
 * What the tenant's log says of signing in to the
 * panel. No token, and no hash of one, is part of it.
 */

/** Where a request came from. */
export interface Whence {
  ip: string;
  userAgent: string | null;
}

/** Somebody opened the panel. */
export function loginEvent(session: StoredSession, whence: Whence): OwnEvent {
  return {
    actor: actorOf(session, whence),
    action: 'login',
    resource: { type: 'session', id: session.id, name: null },
    diff: {},
    after: { signedInBy: session.signedInBy, expiresAt: formatTimestamp(session.expiresAtMs) },
    reason: session.reason,
  };
}

/** An operator was turned away; `id` is the session that was not made. */
export function refusedLoginEvent(visitor: Visitor, id: string, whence: Whence): OwnEvent {
  return {
    actor: actorOf(visitor, whence),
    action: 'login_failed',
    resource: { type: 'session', id, name: null },
    diff: {},
    after: { signedInBy: 'jwt', outcome: 'refused', cause: 'reason_required' },
    reason: null,
  };
}

/** A link was made that opens the panel for an operator, or was refused for want of a reason. */
export function operatorLinkEvent(
  maker: OwnEvent['actor'],
  link: ViewerLink,
  outcome: 'made' | 'refused',
): OwnEvent {
  const operator = { id: link.actorId, email: link.actorEmail, role: link.actorRole };
  const { path, reason } = link;
  return {
    actor: maker,
    action: 'create',
    resource: { type: 'viewer_link', id: link.id, name: null },
    diff: {},
    after: { outcome, operator, path, expiresAt: formatTimestamp(link.expiresAtMs) },
    reason,
  };
}

function actorOf(visitor: Visitor, whence: Whence): OwnEvent['actor'] {
  const { actorId, actorEmail, actorRole } = visitor;
  return { id: actorId, email: actorEmail, role: actorRole, ...whence };
}
