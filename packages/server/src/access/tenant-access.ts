import { isUuid } from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../http/index.ts';
import { actorOf, type OwnEvent, type Who } from '../own-event.ts';
import {
  accessReasonHeader,
  headerValues,
  operatorEmailHeader,
  parseAccessReason,
  parseOperatorEmail,
} from './operator-access.ts';
import type { Principal } from './principal.ts';

/** The tenant of a read, and its reader; an operator has the role `superadmin`. */
export interface TenantAccess extends Who {
  tenantId: string;
}

/**
 * Records an event without its own transaction, such as an operator's access, in the tenant's log;
 * resolves after the commit. The same `uuid` again has no effect.
 */
export type RecordAccess = (tenantId: string, event: OwnEvent, uuid?: string) => Promise<void>;

/**
 * The tenant of a read. In the panel the session names it, and an operator's reason. Throws
 * `forbidden` for another tenant than the credential's. For operators and platform keys:
 * `invalid_parameter` without `X-Tenant-Id`; `reason_required` without a declared reason and
 * `invalid_parameter` with a wrong e-mail address, both also recorded in the tenant's log.
 */
async function tenantAccess(request: FastifyRequest, record: RecordAccess): Promise<TenantAccess> {
  const { principal } = request;
  const named = headerTenant(request);
  if (principal.tenantId !== null) {
    if (named === null || named === principal.tenantId)
      return { tenantId: principal.tenantId, ...ownReader(request) };
    throw new AppError('forbidden', 'this credential is bound to another tenant');
  }
  if (named === null) {
    throw new AppError('invalid_parameter', 'name the tenant in the header X-Tenant-Id', {
      errors: [{ path: 'X-Tenant-Id', code: 'required', message: 'must be the UUID of a tenant' }],
    });
  }
  const { reason, email, refusal } = declared(request);
  const access = { tenantId: named, actor: asOperator(request, email), reason };
  if (refusal === null && reason !== null) return access;
  await record(named, accessEvent(request, access, 'refused'));
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
function declared(request: FastifyRequest) {
  const { rawHeaders } = request.raw;
  const reason = attempt(() => parseAccessReason(headerValues(rawHeaders, accessReasonHeader)));
  const email = attempt(() => emailOf(request));
  return { reason: reason.value, email: email.value, refusal: reason.error ?? email.error };
}

function emailOf({ principal, raw }: FastifyRequest): string | null {
  return principal.email ?? parseOperatorEmail(headerValues(raw.rawHeaders, operatorEmailHeader));
}

function attempt<T>(parse: () => T): { value: T | null; error: AppError | null } {
  try {
    return { value: parse(), error: null };
  } catch (error) {
    if (error instanceof AppError) return { value: null, error };
    throw error;
  }
}

function headerTenant(request: FastifyRequest): string | null {
  const header = request.headers['x-tenant-id'];
  if (header === undefined) return null;
  if (typeof header === 'string' && isUuid(header)) return header.toLowerCase();
  throw new AppError('invalid_parameter', 'the header X-Tenant-Id is not a UUID', {
    errors: [
      { path: 'X-Tenant-Id', code: 'invalid_format', message: 'must be the UUID of a tenant' },
    ],
  });
}

/**
 * Runs a read of one tenant's data. An operator's read is recorded in the tenant's log before the
 * answer is sent; if that fails, the answer is 503. The read runs first, so that an answer never
 * contains its own record, and a read that finds nothing or is refused is recorded too.
 */
export async function readAsTenant<T>(
  request: FastifyRequest,
  record: RecordAccess,
  read: (access: TenantAccess) => Promise<T>,
): Promise<T> {
  const access = await tenantAccess(request, record);
  if (access.actor.role !== 'superadmin') return read(access);
  const found = await settle(read(access));
  await record(access.tenantId, accessEvent(request, access, 'answered'));
  if ('refusal' in found) throw found.refusal;
  return found.answer;
}

/** A refusal is recorded like an answer; other errors are thrown. */
function settle<T>(reading: Promise<T>): Promise<{ answer: T } | { refusal: AppError }> {
  return reading.then(
    (answer) => ({ answer }),
    (error: unknown) => {
      if (error instanceof AppError) return { refusal: error };
      throw error;
    },
  );
}

function accessEvent(
  request: FastifyRequest,
  { tenantId, actor, reason }: TenantAccess,
  outcome: 'answered' | 'refused',
): OwnEvent {
  const [path = '', query = ''] = request.url.split(/\?(.*)/s, 2);
  return {
    actor,
    action: 'access',
    resource: { type: 'audit_log', id: tenantId, name: null },
    diff: {},
    // The record shows what was read, beside the reason.
    after: {
      outcome,
      call: plain(`${request.method} ${path}`),
      query: [...new URLSearchParams(query)].map(([key, value]) => plain(`${key}=${value}`)),
      emailAttestedBy: actor.email === null ? null : attestor(request.principal),
    },
    reason,
  };
}

/** The source of the operator's address: the token, the maker of the link, or the caller. */
function attestor({ email, session }: Principal): 'token' | 'viewer_link' | 'header' {
  if (email === null) return 'header';
  return session?.signedInBy === 'viewer_link' ? 'viewer_link' : 'token';
}

/** Shortened, without characters that the database cannot store. */
function plain(text: string): string {
  return text.replaceAll('\0', '').slice(0, 500).toWellFormed();
}
