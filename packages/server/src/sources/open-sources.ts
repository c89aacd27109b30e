import { formatTimestamp, timestampOrNull } from '@indelible/protocol';
import type { FastifyInstance } from 'fastify';
import { lookAt } from '../access/look.ts';
import type { RecordAccess } from '../access/record-looks.ts';
import { readAsTenant } from '../access/tenant-access.ts';
import { readTenant } from '../postgres/db.ts';
import { listSchema } from './schemas.ts';
import { countSources, listSources, type Source, type SourceCounts } from './store.ts';
import { shownGap, type TellDeps, tellSources } from './tell-sources.ts';

interface SourceDeps extends Omit<TellDeps, 'silentMs'> {
  recordAccess: RecordAccess;
  config: { sourceSilentMs: number };
  metrics: { watchSources(read: () => Promise<SourceCounts>): void };
}

const config = { scope: 'events:read' } as const;

/** The call on sources that number their events, and metrics; returns the background work. */
export function openSources(app: FastifyInstance, deps: SourceDeps): () => Promise<boolean> {
  app.get('/api/sources', { config, schema: listSchema }, (request) =>
    readAsTenant(request, deps.recordAccess, lookAt('sources', request), async ({ tenantId }) => ({
      data: (await readTenant(deps.db, tenantId, listSources)).map(shown),
    })),
  );
  deps.metrics.watchSources(() => countSources(deps.db.writer));
  return () => tellSources({ ...deps, silentMs: deps.config.sourceSilentMs });
}

function shown({ id, keyId, lastSequence, silent, ...source }: Source) {
  const { firstReceivedMs, lastReceivedMs, gapsDroppedMs, gaps } = source;
  return {
    id,
    keyId,
    lastSequence,
    firstReceivedAt: formatTimestamp(firstReceivedMs),
    lastReceivedAt: formatTimestamp(lastReceivedMs),
    gaps: gaps.map(shownGap),
    gapsDroppedAt: timestampOrNull(gapsDroppedMs),
    silent,
  };
}
