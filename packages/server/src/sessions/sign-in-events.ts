import { formatTimestamp } from '@indelible/protocol';
import { actOf, type OwnEvent, type Whence, type Who } from '../own-event.ts';
import type { StoredSession, ViewerLink } from './store.ts';

/* The log's records of signing in to the panel. They contain neither tokens nor their hashes. */

type SignedIn = Pick<
  StoredSession,
  'actorId' | 'actorExternalId' | 'actorEmail' | 'actorRole' | 'agents'
>;

const sessionOf = (id: string) => ({ type: 'session', id, name: null });

/** A sign-in to the panel. */
export function loginEvent(session: StoredSession, whence: Whence): OwnEvent {
  const { id, signedInBy, openedBy, expiresAtMs, reason } = session;
  const after = { signedInBy, openedBy, expiresAt: formatTimestamp(expiresAtMs) };
  return actOf({ actor: actorOf(session, whence), reason }, 'login', sessionOf(id), { after });
}

/** An admin, or who administers the tenant, ended another person's session. */
export function endedSessionEvent(ended: StoredSession, who: Who): OwnEvent {
  const { id, actorId, actorRole, openedBy } = ended;
  const after = { outcome: 'ended', of: { id: actorId, role: actorRole }, openedBy };
  return actOf(who, 'session_forced', sessionOf(id), { after });
}

/** A refused operator; `id` is that of the session that was not made. */
export function refusedLoginEvent(visitor: SignedIn, id: string, whence: Whence): OwnEvent {
  const who = { actor: actorOf(visitor, whence), reason: null };
  const after = { signedInBy: 'jwt', outcome: 'refused', cause: 'reason_required' };
  return actOf(who, 'login_failed', sessionOf(id), { outcome: 'denied', after });
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
  const actor = role === 'superadmin' ? { ...maker, role } : maker;
  const resource = { type: 'viewer_link', id: link.id, name: null };
  return actOf({ actor, reason }, 'create', resource, {
    ...(outcome === 'refused' && { outcome: 'denied' as const }),
    after: {
      outcome,
      openedFor,
      openedBy,
      path,
      expiresAt: formatTimestamp(link.expiresAtMs),
    },
  });
}

function actorOf(visitor: SignedIn, whence: Whence): OwnEvent['actor'] {
  const { actorId, actorExternalId, actorEmail, actorRole, agents } = visitor;
  const own = actorExternalId === null ? {} : { externalId: actorExternalId };
  return { id: actorId, ...own, email: actorEmail, role: actorRole, agents, ...whence };
}
