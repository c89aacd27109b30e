import type { FastifyReply, FastifyRequest } from 'fastify';
import { findPerson, findTenant, type Person, type Tenant } from './people.ts';

/** Who is signed in, and in which tenant. */
export interface Visit {
  person: Person;
  sessionId: string;
  /** Null for an operator who has not said yet where and why. */
  tenant: Tenant | null;
  /** An operator's declared reason. */
  reason: string | null;
}

const cookie = 'session';

/** Read from the signed cookie; null without a user. */
export function visitOf(request: FastifyRequest): Visit | null {
  const { valid, value } = request.unsignCookie(request.cookies[cookie] ?? '');
  if (!valid || value === null) return null;
  const kept = JSON.parse(value) as Record<string, string | undefined>;
  const person = findPerson(kept.personId);
  if (!person) return null;
  const tenant = findTenant(person.tenantId ?? kept.tenantId);
  return { person, sessionId: kept.sessionId ?? '', tenant, reason: kept.reason ?? null };
}

export function keepVisit(reply: FastifyReply, { person, sessionId, tenant, reason }: Visit): void {
  const kept = { personId: person.id, sessionId, tenantId: tenant?.id, reason };
  reply.setCookie(cookie, JSON.stringify(kept), {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    signed: true,
  });
}

export function forgetVisit(reply: FastifyReply): void {
  reply.clearCookie(cookie, { path: '/' });
}
