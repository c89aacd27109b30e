import { isUuid } from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import {
  accessReasonHeader,
  headerValues,
  operatorEmailHeader,
  parseAccessReason,
  parseOperatorEmail,
} from './operator-access.ts';
import { actorOf, type OwnEvent } from './own-event.ts';
import { AppError } from './problem.ts';

/** Whose data a request reads; an operator's declared reason when it is not the reader's own. */
export interface TenantAccess {
  tenantId: string;
  operator: { reason: string; email: string | null } | null;
}

/** Records an operator's access in the tenant's log and resolves once it is committed; may throw. */
export type RecordAccess = (tenantId: string, event: OwnEvent) => Promise<void>;

/**
 * The tenant a read concerns. Throws `forbidden` for another tenant than the credential's own; for
 * operators and platform keys `invalid_parameter` without `X-Tenant-Id` and `reason_required` without
 * a declared reason: that refusal is recorded in the tenant's log too.
 */
async function tenantAccess(request: FastifyRequest, record: RecordAccess): Promise<TenantAccess> {
  const { principal } = request;
  const named = headerTenant(request);
  if (principal.tenantId !== null) {
    if (named === null || named === principal.tenantId)
      return { tenantId: principal.tenantId, operator: null };
    throw new AppError('forbidden', 'this credential is bound to another tenant');
  }
  if (named === null) {
    throw new AppError('invalid_parameter', 'name the tenant in the header X-Tenant-Id', {
      errors: [{ path: 'X-Tenant-Id', code: 'required', message: 'must be the UUID of a tenant' }],
    });
  }
  try {
    const reason = parseAccessReason(headerValues(request.raw.rawHeaders, accessReasonHeader));
    return { tenantId: named, operator: { reason, email: operatorEmail(request) } };
  } catch (error) {
    if (error instanceof AppError && error.code === 'reason_required') {
      await record(
        named,
        accessEvent(request, named, { reason: null, email: operatorEmail(request) }, 'refused'),
      );
    }
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

function operatorEmail(request: FastifyRequest): string | null {
  const { email } = request.principal;
  return email ?? parseOperatorEmail(headerValues(request.raw.rawHeaders, operatorEmailHeader));
}

/**
 * Runs a read of one tenant's data. An operator's read is recorded in that tenant's log before the
 * answer leaves; when it cannot be recorded, there is no answer (503). The read comes first, so that
 * an answer never contains its own record, and "not found" is recorded like anything else looked for.
 */
export async function readAsTenant<T>(
  request: FastifyRequest,
  record: RecordAccess,
  read: (access: TenantAccess) => Promise<T>,
): Promise<T> {
  const access = await tenantAccess(request, record);
  if (!access.operator) return read(access);
  const { tenantId, operator } = access;
  const log = () => record(tenantId, accessEvent(request, tenantId, operator, 'answered'));
  try {
    const answer = await read(access);
    await log();
    return answer;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') await log();
    throw error;
  }
}

function accessEvent(
  request: FastifyRequest,
  tenantId: string,
  operator: { reason: string | null; email: string | null },
  outcome: 'answered' | 'refused',
): OwnEvent {
  const { pathname, searchParams } = new URL(request.url, 'http://local');
  return {
    actor: { ...actorOf(request), email: operator.email, role: 'superadmin' },
    action: 'access',
    resource: { type: 'audit_log', id: tenantId, name: null },
    diff: {},
    // What was looked at is part of the record: the tenant reads it beside the reason.
    after: {
      outcome,
      call: `${request.method} ${pathname}`.slice(0, 500).toWellFormed(),
      query: [...searchParams].map(([key, value]) =>
        `${key}=${value}`.replaceAll('\0', '').slice(0, 500).toWellFormed(),
      ),
    },
    reason: operator.reason,
  };
}
