import { type ListQuery, resolvedFilter, type StatsQuery } from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import type { Look } from '../access/look.ts';
import { readAsTenant } from '../access/tenant-access.ts';
import type { Parts } from '../parts.ts';
import type { Visibility } from './filter-sql.store.ts';
import { readShown } from './store.ts';

type VisibleDeps = Pick<Parts, 'db' | 'now' | 'recordAccess'>;

/** The query with own ids as the UUIDs of this tenant. */
export function resolved<Q extends ListQuery | StatsQuery>(query: Q, { tx }: Visibility): Q {
  return { ...query, filter: resolvedFilter(query.filter, tx.tenantId) };
}

/** Reads in the caller's tenant, limited to what its current plan shows. */
export function visibleTo<T>(
  request: FastifyRequest,
  deps: VisibleDeps,
  look: Look,
  read: (visible: Visibility) => Promise<T>,
): Promise<T> {
  return readAsTenant(request, deps.recordAccess, look, ({ tenantId }) =>
    readShown(deps.db, tenantId, deps.now(), read, request.gone),
  );
}
