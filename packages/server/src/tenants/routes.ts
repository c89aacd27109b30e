import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { formatTimestamp, ownIdOf, type Plans } from '@indelible/protocol';
import type { FastifyInstance } from 'fastify';
import { administratorHeaders } from '../access/operator-access.ts';
import { isReadingAdmin, type Principal, requireActsFor } from '../access/principal.ts';
import { administrator } from '../access/tenant-access.ts';
import { tenantNamed } from '../access/tenant-name.ts';
import { answerPage, PageQuery, readPage } from '../http/keyset-page.ts';
import { AppError } from '../http/problem.ts';
import { readTenant, write } from '../postgres/db.ts';
import { announcePartitions } from '../postgres/partitions.store.ts';
import { abandonTenant } from './abandon-tenant.ts';
import { confirmMailRoutes } from './confirm-mail.routes.ts';
import { handleConfirmMail } from './mail-recipients.ts';
import { type PutTenantParts, putTenant } from './put-tenant.store.ts';
import { Tenant, TenantPage, TenantParams, tenantChange, WrittenTenant } from './schemas.ts';
import { getTenant, listTenants, type TenantRow } from './store.ts';
import { settingsOf } from './tenant-settings.ts';

const tags = ['Tenants'];

/** Creates, changes, shows and lists tenants, and confirms addresses of their mail. */
export function tenantRoutes(app: FastifyInstance, parts: PutTenantParts): void {
  const typed = app.withTypeProvider<TypeBoxTypeProvider>();
  confirmMailRoutes(app, parts);
  handleConfirmMail(parts);

  typed.put('/api/tenants/:id', putOptions(parts.plans), async (request, reply) => {
    requireActsFor(request.principal, null);
    const put = {
      id: tenantNamed(request.params.id),
      externalId: ownIdOf(request.params.id),
      change: request.body,
      who: administrator(request),
    };
    const written = await write(parts.db, (tx) => putTenant(tx, parts, put));
    const { created, tenant, restoreSecret } = written;
    // The change is committed, and only this answer has its secret. Retention announces later, too.
    if (!created) await write(parts.db, announcePartitions).catch(() => false);
    reply.code(created ? 201 : 200);
    return { ...shown(tenant), ...(restoreSecret === null ? {} : { restoreSecret }) };
  });

  typed.post('/api/tenants/:id/abandon', abandonOptions, async (request) => {
    requireActsFor(request.principal, null);
    const id = tenantNamed(request.params.id);
    const who = administrator(request);
    return shown(await write(parts.db, (tx) => abandonTenant(tx, parts, id, who)));
  });

  typed.get('/api/tenants/:id', getOptions, async (request) => {
    const id = tenantNamed(request.params.id);
    requireMaySee(request.principal, id);
    const tenant = await readTenant(parts.db, id, getTenant);
    if (tenant === null) throw new AppError('not_found');
    return shown(tenant);
  });

  typed.get('/api/tenants', listOptions, async (request) => {
    requireActsFor(request.principal, null);
    return answerPage(
      readPage(request, 'oldest'),
      (from, max) => write(parts.db, (tx) => listTenants(tx, from, max)),
      (rows) => rows.map(shown),
    );
  });
}

const putOptions = (plans: Plans) =>
  ({
    config: { scope: 'tenants:write' },
    schema: {
      tags,
      operationId: 'putTenant',
      summary: 'Create or change a tenant',
      description:
        'Needs a platform-bound credential. Lifting a legal hold or choosing a smaller plan needs the ' +
        'header `X-Access-Reason`, and is mailed to `notifyEmails`. Every change is recorded in the ' +
        "tenant's own log, as the act of an operator.",
      params: TenantParams,
      headers: administratorHeaders,
      body: tenantChange(plans),
      response: {
        200: WrittenTenant,
        201: WrittenTenant,
      },
    },
  }) as const;

const abandonOptions = {
  config: { scope: 'tenants:write' },
  schema: {
    tags,
    operationId: 'abandonTenant',
    'x-refuses': [409],
    summary: 'Close the log of a tenant that only a failed import has filled',
    description:
      'Needs a platform-bound credential and `X-Access-Reason`. The log takes no more events, and ' +
      'records why; its events stay until their retention ends. `409` if a producer recorded an ' +
      'event within five minutes of its timestamp, under legal hold, and if the log is closed.',
    params: TenantParams,
    headers: administratorHeaders,
    response: {
      200: Tenant,
    },
  },
} as const;

const getOptions = {
  config: { scope: 'authenticated' },
  schema: {
    tags,
    operationId: 'getTenant',
    summary: 'One tenant',
    description: 'For `tenants:write`, and for an admin of this very tenant with `events:read`.',
    params: TenantParams,
    response: {
      200: Tenant,
    },
  },
} as const;

const listOptions = {
  config: { scope: 'tenants:write' },
  schema: {
    tags,
    operationId: 'listTenants',
    summary: 'Every tenant',
    description: 'Needs a platform-bound credential.',
    querystring: PageQuery,
    response: {
      200: TenantPage,
    },
  },
} as const;

/** Another tenant's id is answered like an unknown one. */
function requireMaySee(principal: Principal, id: string): void {
  const { scopes, tenantId } = principal;
  if (!isReadingAdmin(principal) && !scopes.has('tenants:write')) {
    throw new AppError('forbidden', 'this needs the scope tenants:write');
  }
  if (tenantId !== null && tenantId !== id) throw new AppError('not_found');
}

function shown(tenant: TenantRow) {
  return {
    id: tenant.id,
    externalId: tenant.externalId,
    ...settingsOf(tenant),
    createdAt: formatTimestamp(tenant.createdAtMs),
    updatedAt: formatTimestamp(tenant.updatedAtMs),
    ...(tenant.closedAtMs ? { closedAt: formatTimestamp(tenant.closedAtMs) } : {}),
  };
}
