import type { RequestAudit } from '../request-audit.ts';

/* A small host product, the same on every framework: its users, and what it records. */

export interface User {
  id: string;
  email: string;
  role: string;
  tenantId: string;
  /** Must not be sent. */
  passwordHash: string;
}

/** The header `x-user` stands for a session. */
export function userOf(header: string | string[] | undefined | null): User | null {
  return typeof header === 'string' ? JSON.parse(decodeURIComponent(header)) : null;
}

/** The header `x-claims` stands for a verified token. */
export function claimsOf(header: string | string[] | undefined | null): object | null {
  return typeof header === 'string' ? JSON.parse(header) : null;
}

export const asUser = (user: User) => ({ 'x-user': encodeURIComponent(JSON.stringify(user)) });

/** Blocks each visitor until the test releases it. */
export interface Gate {
  arrived(): Promise<void>;
}

export const queue = (id: string) => ({ type: 'queue', id, name: 'Sales' });

export interface Act {
  what: 'update' | 'impersonate' | 'login' | 'login_failed' | 'fail' | 'refused' | 'event';
  queueId: string;
  user?: User;
  actingAs?: { id: string; email?: string };
  reason?: string;
  email?: string;
  waits?: boolean;
}

/** Performs a request's action; the answer holds the event's id. */
export async function act(audit: RequestAudit, what: Act, gate: Gate) {
  if (what.waits) await gate.arrived();
  const { requestId } = audit;
  const update = {
    action: 'update',
    resource: queue(what.queueId),
    before: { maxWaitSeconds: 30 },
    after: { maxWaitSeconds: 60 },
  };
  switch (what.what) {
    case 'update':
      return { id: await audit.record(update), requestId };
    case 'impersonate': {
      const { user, actingAs = null, reason = null } = what;
      if (user) audit.actor(user, { actingAs, reason });
      return { id: await audit.record(update), requestId };
    }
    case 'login':
      return { id: what.user ? await audit.login(what.user) : null, requestId };
    case 'login_failed':
      return { id: await audit.loginFailed(what.email), requestId };
    case 'event':
      return { event: audit.event(update), requestId };
    case 'fail':
      await audit.record(update);
      throw new Error('the handler failed');
    case 'refused':
      return { id: await audit.record({ ...update, action: 'not a word' }), requestId };
  }
}
