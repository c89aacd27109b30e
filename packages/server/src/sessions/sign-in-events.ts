import { formatTimestamp } from '@indelible/protocol';
import type { OwnEvent, Whence, Who } from '../own-event.ts';
import type { StoredSession, ViewerLink } from './store.ts';

/* The log's records of signing in to the panel. They contain neither tokens nor their hashes. */

type SignedIn = Pick<StoredSession, 'actorId' | 'actorEmail' | 'actorRole' | 'agents'>;

/** A sign-in to the panel. */
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

/** An admin, or who administers the tenant, ended another person's session. */
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

/** A refused operator; `id` is that of the session that was not made. */
export function refusedLoginEvent(visitor: SignedIn, id: string, whence: Whence): OwnEvent {
  return {
    actor: actorOf(visitor, whence),
    action: 'login_failed',
    outcome: 'denied',
    resource: { type: 'session', id, name: null },
    diff: {},
    after: { signedInBy: 'jwt', outcome: 'refused', cause: 'reason_required' },
    reason: null,
  };
}

/**
 * A link that opens the panel was made, or an operator's was refused without a reason. An
 * operator's link is an operator's act; for other people the host product is responsible.
 */
export function linkEvent(
  maker: OwnEvent['actor'],
  link: ViewerLink,
  outcome: 'made' | 'refused',
): OwnEvent {
  const { actorId: id, actorEmail: email, actorRole: role } = link;
  // A tenant's own person has the address only in the sign-in, where erasure empties it.
  const openedFor = role === 'superadmin' ? { id, email, role } : { id, role };
  const { path, reason, openedBy } = link;
  return {
    actor: role === 'superadmin' ? { ...maker, role } : maker,
    action: 'create',
    ...(outcome === 'refused' && { outcome: 'denied' as const }),
    resource: { type: 'viewer_link', id: link.id, name: null },
    diff: {},
    after: {
      ...{ outcome, openedFor, openedBy, path },
      expiresAt: formatTimestamp(link.expiresAtMs),
    },
    reason,
  };
}

function actorOf(visitor: SignedIn, whence: Whence): OwnEvent['actor'] {
  const { actorId, actorEmail, actorRole, agents } = visitor;
  return { id: actorId, email: actorEmail, role: actorRole, agents, ...whence };
}
