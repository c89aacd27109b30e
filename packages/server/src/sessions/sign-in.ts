import { type Agent, agentsIn } from '@indelible/protocol';
import type { Static } from 'typebox';
import { unauthenticated } from '../access/bearer.ts';
import type { JwtPrincipal } from '../access/jwt.ts';
import { parseReasonField } from '../access/operator-access.ts';
import { idIn } from '../access/principal.ts';
import { tenantNamed } from '../access/tenant-name.ts';
import { hashSecretToken, newSecretToken } from '../crypto/secret-token.ts';
import { AppError, invalid } from '../http/problem.ts';
import type { Whence } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { tenantIn, type WriterTx, write } from '../postgres/db.ts';
import { getTenant } from '../tenants/store.ts';
import type { SignIn } from './schemas.ts';
import { endsOf } from './session-times.ts';
import { loginEvent, refusedLoginEvent } from './sign-in-events.ts';
import {
  deleteSession,
  forgetExpired,
  insertSession,
  type StoredSession,
  spendViewerLink,
  type Visitor,
} from './store.ts';

export interface SignInParts extends Parts {
  authenticateJwt: (token: string) => Promise<JwtPrincipal>;
}

interface SignInAttempt {
  credential: Static<typeof SignIn>;
  /** Hash of the browser's current cookie, whose session ends. */
  former: Uint8Array | null;
  whence: Whence;
}

type Entry = Visitor & {
  signedInBy: 'viewer_link' | 'jwt';
  agents: readonly Agent[];
  path: string | null;
  /** The end of the token, or of the key that made the link. */
  latestEndMs: number | null;
};

/**
 * Opens a session for a viewer link or a token of the host product. One transaction uses up the
 * link, ends the former session, and stores the new one and its record. Throws `unauthenticated`,
 * `forbidden`, `reason_required`, `not_found` for an unknown tenant, and `validation_failed`.
 */
export async function signIn(parts: SignInParts, attempt: SignInAttempt) {
  const enter = await entrance(parts, attempt);
  return write(parts.db, async (tx) => {
    const entry = await enter(tx);
    const tenant = await getTenant(tenantIn(tx, entry.tenantId));
    if (tenant === null) throw new AppError('not_found', 'there is no such tenant');
    if (attempt.former !== null) await deleteSession(tx, attempt.former);
    await forgetExpired(tx, parts.now());
    // Always a new token: a token planted in the browser never becomes a session.
    const token = newSecretToken();
    const session = newSession(parts, entry);
    await insertSession(tx, hashSecretToken(token), session);
    await parts.recordOwn(tx, session.tenantId, loginEvent(session, attempt.whence));
    return { token, session, tenant, path: entry.path };
  });
}

function newSession(
  { now, newUuid }: SignInParts,
  { path: _, latestEndMs, ...entry }: Entry,
): StoredSession {
  const nowMs = now();
  return { id: newUuid(nowMs), ...entry, ...endsOf(nowMs, latestEndMs) };
}

/** Checks the credential within the transaction; a JWT was verified before. */
async function entrance(
  parts: SignInParts,
  attempt: SignInAttempt,
): Promise<(tx: WriterTx) => Promise<Entry>> {
  const { token, jwt, tenantId, reason } = attempt.credential;
  if ((token === undefined) === (jwt === undefined)) throw eitherOr();
  if (jwt !== undefined) {
    const entry = await byJwt(parts, attempt, jwt);
    return async () => entry;
  }
  if (token === undefined || tenantId != null || reason != null) throw eitherOr();
  return (tx) => byLink(tx, token, parts.now());
}

function eitherOr(): AppError {
  const message =
    'must be sent alone; otherwise send jwt, for an operator with tenantId and reason';
  return invalid([{ path: '/token', code: 'required', message }], `token ${message}`);
}

async function byLink(tx: WriterTx, token: string, nowMs: number): Promise<Entry> {
  const link = await spendViewerLink(tx, hashSecretToken(token), nowMs);
  if (link === null) throw unauthenticated();
  const { keyEndsMs, ...entry } = link;
  return { ...entry, signedInBy: 'viewer_link', agents: [], latestEndMs: keyEndsMs };
}

async function byJwt(parts: SignInParts, attempt: SignInAttempt, jwt: string): Promise<Entry> {
  const principal = await parts.authenticateJwt(jwt);
  const { externalId, email, role, tenantId, agents, expiresAtMs } = principal;
  // Calls take a token for some seconds longer: clocks differ. A session would be over at once.
  if (expiresAtMs <= parts.now()) throw unauthenticated();
  const { tenantId: name } = attempt.credential;
  const named = name == null ? null : tenantNamed(name);
  const person = (at: string) => ({
    ...({ signedInBy: 'jwt', path: null, openedBy: null, scopes: null, reason: null } as const),
    actorId: idIn(at, principal),
    actorExternalId: externalId,
    actorEmail: email,
    latestEndMs: expiresAtMs,
    tenantId: at,
    agents: agentsIn(at, agents),
  });
  if (role !== 'superadmin' && tenantId !== null) {
    if (named === null || named === tenantId) return { ...person(tenantId), actorRole: 'admin' };
    throw new AppError('forbidden', 'this token is bound to another tenant');
  }
  if (named === null) throw tenantMissing();
  const visitor = { ...person(named), actorRole: 'superadmin' as const };
  return { ...visitor, reason: await declaredReason(parts, attempt, visitor) };
}

function tenantMissing(): AppError {
  const message = 'is required for superadmin';
  const errors = [{ path: '/tenantId', code: 'required', message }];
  return invalid(errors, 'an operator must name the tenant');
}

/** Throws `reason_required` after the refusal is recorded in the tenant's log. */
async function declaredReason(
  { recordQueued, now, newUuid }: SignInParts,
  { credential, whence }: SignInAttempt,
  visitor: Entry,
): Promise<string> {
  try {
    return parseReasonField(credential.reason);
  } catch (refusal) {
    const id = newUuid(now());
    await recordQueued(visitor.tenantId, refusedLoginEvent(visitor, id, whence));
    throw refusal;
  }
}
