import { formatTimestamp } from '@indelible/protocol';
import type { FastifyInstance } from 'fastify';
import { lookAt, type RecordAccess, readAsTenant } from '../access/index.ts';
import { type Database, readTenant } from '../postgres/index.ts';
import { listSchema } from './schemas.ts';
import { listSources, type Source } from './store.ts';
import { shownGap } from './tell-sources.ts';

const config = { scope: 'events:read', schema: 'enforced' } as const;

/** The sources that number their events. */
export function sourceRoutes(
  app: FastifyInstance,
  deps: { db: Database; recordAccess: RecordAccess },
): void {
  app.get('/api/sources', { config, schema: listSchema }, (request) =>
    readAsTenant(request, deps.recordAccess, lookAt('sources', request), async ({ tenantId }) => ({
      data: (await readTenant(deps.db, tenantId, listSources)).map(shown),
    })),
  );
}

function shown({ id, lastSequence, silent, ...source }: Source) {
  const { firstReceivedMs, lastReceivedMs, gapsDroppedMs, gaps } = source;
  return {
    ...{ id, lastSequence },
    firstReceivedAt: formatTimestamp(firstReceivedMs),
    lastReceivedAt: formatTimestamp(lastReceivedMs),
    gaps: gaps.map(shownGap),
    gapsDroppedAt: gapsDroppedMs === null ? null : formatTimestamp(gapsDroppedMs),
    silent,
  };
}
