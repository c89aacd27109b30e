import { formatTimestamp } from '@indelible/protocol';
import type { OwnEvent, Whence, Who } from '../own-event.ts';
import type { StoredSession, ViewerLink, Visitor } from './store.ts';

/*
 * What the tenant's log says of signing in to the
 * panel. No token, and no hash of one, is part of it.
 */

/** Somebody opened the panel. */
export function loginEvent(session: StoredSession, whence: Whence): OwnEvent {
  const { id, signedInBy, openedBy, expiresAtMs, reason } = session;
  return {
    actor: actorOf(session, whence),
    action: 'login',
    resource: { type: 'session', id, name: null },
    diff: {},
    after: { signedInBy, openedBy, expiresAt: formatTimestamp(expiresAtMs) },
    reason,
  };
}

/** An admin, or who administers the tenant, ended somebody's session. */
export function endedSessionEvent(ended: StoredSession, who: Who): OwnEvent {
  const { id, actorId, actorRole, openedBy } = ended;
  return {
    ...who,
    action: 'session_forced',
    resource: { type: 'session', id, name: null },
    diff: {},
    after: { outcome: 'ended', of: { id: actorId, role: actorRole }, openedBy },
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

/**
 * A link was made that opens the panel, or one for an operator was refused for want of a reason.
 * For an operator it is an operator's act; for the tenant's own people their product vouches.
 */
export function linkEvent(
  maker: OwnEvent['actor'],
  link: ViewerLink,
  outcome: 'made' | 'refused',
): OwnEvent {
  const { actorId: id, actorEmail: email, actorRole: role } = link;
  // A tenant's own person has the address in the sign-in alone, where an erasure empties it.
  const openedFor = role === 'superadmin' ? { id, email, role } : { id, role };
  const { path, reason, openedBy } = link;
  return {
    actor: role === 'superadmin' ? { ...maker, role } : maker,
    action: 'create',
    resource: { type: 'viewer_link', id: link.id, name: null },
    diff: {},
    after: {
      ...{ outcome, openedFor, openedBy, path },
      expiresAt: formatTimestamp(link.expiresAtMs),
    },
    reason,
  };
}

function actorOf(visitor: Visitor, whence: Whence): OwnEvent['actor'] {
  const { actorId, actorEmail, actorRole } = visitor;
  return { id: actorId, email: actorEmail, role: actorRole, ...whence };
}
