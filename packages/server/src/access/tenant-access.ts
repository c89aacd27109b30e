import { type Agent, agentsIn, tenantUuid } from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import { AppError, invalidParameter } from '../http/problem.ts';
import { actOf, actorOf, type OwnEvent, type Whence, type Who } from '../own-event.ts';
import type { Look } from './look.ts';
import {
  accessReasonHeader,
  headerValues,
  operatorEmailHeader,
  parseAccessReason,
  parseOperatorEmail,
} from './operator-access.ts';
import { idIn, type Principal, requireActsFor } from './principal.ts';
import type { RecordAccess } from './record-looks.ts';

/** The tenant of a read, and its reader; an operator has the role `superadmin`. */
export interface TenantAccess extends Who {
  tenantId: string;
}

/**
 * The tenant of a read. In the panel the session names it, and an operator's reason. Throws
 * `forbidden` for another tenant than the credential's. For operators and platform keys:
 * `invalid_parameter` without `X-Tenant-Id`; `reason_required` without a declared reason and
 * `invalid_parameter` with a wrong e-mail address, both also recorded in the tenant's log.
 */
async function tenantAccess(
  request: FastifyRequest,
  record: RecordAccess,
  look: Look,
): Promise<TenantAccess> {
  const { principal } = request;
  const named = headerTenant(request);
  if (principal.tenantId !== null) {
    requireActsFor(principal, named ?? principal.tenantId);
    return { tenantId: principal.tenantId, ...ownReader(request) };
  }
  if (named === null) {
    throw wrongTenantId('required', 'name the tenant in the header X-Tenant-Id');
  }
  const { reason, email, refusal } = await declared(request);
  const actor = { ...asOperator(request, email), id: idIn(named, principal) };
  const access = { tenantId: named, actor, reason };
  if (refusal === undefined) return access;
  await record(named, accessEvent(request, access, look, 'refused'), credentialOf(principal));
  throw refusal;
}

/** A platform-bound credential counts as an operator, which the tenant must see. */
function asOperator(request: FastifyRequest, email: string | null): OwnEvent['actor'] {
  return { ...actorOf(request), email, role: 'superadmin' };
}

/**
 * Who administers a tenant: its own key, or the platform, as an operator who may declare a reason.
 * Throws `reason_required` and `invalid_parameter` for invalid headers.
 */
export function administrator(request: FastifyRequest): Who {
  const { principal, raw } = request;
  if (principal.tenantId !== null) return { actor: actorOf(request), reason: null };
  const reasons = headerValues(raw.rawHeaders, accessReasonHeader);
  return {
    actor: asOperator(request, emailOf(request)),
    reason: reasons.length === 0 ? null : parseAccessReason(reasons),
  };
}

/**
 * In the panel an operator declared the reason at sign-in; other tenant-bound callers need none.
 */
function ownReader(request: FastifyRequest): Who {
  const { role, session } = request.principal;
  const actor = actorOf(request);
  if (role !== 'superadmin') return { actor, reason: null };
  if (session?.reason) return { actor, reason: session.reason };
  throw new AppError('reason_required', 'the session has no declared reason');
}

/** The operator's valid declarations, and the problem of an invalid one. */
async function declared(request: FastifyRequest) {
  const reasons = headerValues(request.raw.rawHeaders, accessReasonHeader);
  const reason = await settle(() => parseAccessReason(reasons));
  const email = await settle(() => emailOf(request));
  const refusal = reason.refusal ?? email.refusal;
  return { reason: reason.answer ?? null, email: email.answer ?? null, refusal };
}

function emailOf({ principal, raw }: FastifyRequest): string | null {
  return principal.email ?? parseOperatorEmail(headerValues(raw.rawHeaders, operatorEmailHeader));
}

function headerTenant({ raw }: FastifyRequest): string | null {
  const [header, ...more] = headerValues(raw.rawHeaders, 'x-tenant-id');
  if (header === undefined) return null;
  const id = more.length > 0 ? null : tenantUuid(percentDecoded(header));
  if (id !== null) return id;
  const sentence = 'the header X-Tenant-Id is no UUID and no percent-encoded own id';
  throw wrongTenantId('invalid_format', sentence);
}

/** Empty if it cannot be decoded. Node reads bytes above ASCII as Latin-1: wrong letters. */
function percentDecoded(header: string): string {
  try {
    return /[\u0080-\uffff]/.test(header) ? '' : decodeURIComponent(header);
  } catch {
    return '';
  }
}

const wrongTenantId = (code: string, sentence: string) =>
  invalidParameter(
    { path: 'X-Tenant-Id', code, message: 'must be the UUID or own id of a tenant' },
    sentence,
  );

/**
 * Runs a read of one tenant's data. The tenant's log has an operator's look before the answer is
 * sent; if that fails, the answer is 503. The read runs first, so that an answer never contains its
 * own record. A read that finds nothing, or is refused, is recorded too. `look` must name all that
 * the answer can show: the same look again leaves no further record for some time.
 */
export async function readAsTenant<T>(
  request: FastifyRequest,
  record: RecordAccess,
  look: Look | (() => Look),
  read: (access: TenantAccess) => Promise<T>,
): Promise<T> {
  const known = () => (typeof look === 'function' ? look() : look);
  const access = await tenantAccess(request, record, known());
  if (access.actor.role !== 'superadmin') return read(access);
  const found = await settle(() => read(access));
  const event = accessEvent(request, access, known(), 'answered');
  await record(access.tenantId, event, credentialOf(request.principal));
  if (found.refusal) throw found.refusal;
  return found.answer;
}

type Settled<T> = { answer: T; refusal?: never } | { answer?: never; refusal: AppError };

/** A refusal is recorded like an answer; other errors are thrown. */
async function settle<T>(work: () => T | Promise<T>): Promise<Settled<T>> {
  try {
    return { answer: await work() };
  } catch (error) {
    if (error instanceof AppError) return { refusal: error };
    throw error;
  }
}

/** Two sessions of a person are two credentials. */
function credentialOf({ kind, id, session }: Principal): string {
  return `${kind} ${session?.id ?? id}`;
}

function accessEvent(
  request: FastifyRequest,
  { tenantId, actor, reason }: TenantAccess,
  look: Look,
  outcome: 'answered' | 'refused',
): OwnEvent {
  const attested = actor.email === null ? null : attestor(request.principal);
  const resource = { type: 'audit_log', id: tenantId, name: null };
  return actOf({ actor, reason }, 'access', resource, {
    ...(outcome === 'refused' && { outcome: 'denied' as const }),
    // The record shows what was read, beside the reason.
    after: { outcome, ...look, emailAttestedBy: attested },
  });
}

/** The source of the operator's address: the token, the maker of the link, or the caller. */
function attestor({ email, session }: Principal): 'token' | 'viewer_link' | 'header' {
  if (email === null) return 'header';
  return session?.signedInBy === 'viewer_link' ? 'viewer_link' : 'token';
}

/** Who requested work, as its row stores them for the record of the outcome. */
export interface Requester {
  tenantId: string;
  requestedById: string;
  /** The host's own id of the person; null: a UUID, or a key. */
  requestedByExternalId: string | null;
  requestedByEmail: string | null;
  requestedByRole: string;
  /** The agents that acted with the requester's token, nearest first. */
  agents: readonly Agent[];
  /** An operator's declared reason. */
  accessReason: string | null;
}

export function requesterOf({ tenantId, actor, reason }: TenantAccess): Requester {
  return {
    tenantId,
    requestedById: actor.id,
    requestedByExternalId: actor.externalId ?? null,
    requestedByEmail: actor.email,
    requestedByRole: actor.role,
    agents: agentsIn(tenantId, actor.agents ?? []),
    accessReason: reason,
  };
}

/** The requester as the row has it. A worker's records have no address. */
export function whoRequested(
  requester: Requester,
  whence: Whence = { ip: null, userAgent: null },
): Who {
  const { requestedById: id, requestedByEmail: email, requestedByRole: role, agents } = requester;
  const { requestedByExternalId: externalId, accessReason: reason } = requester;
  const own = externalId === null ? {} : { externalId };
  return { actor: { id, ...own, email, role, agents, ...whence }, reason };
}
