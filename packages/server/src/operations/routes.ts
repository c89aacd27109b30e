import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';
import { shaOfText } from '../crypto/sha256.ts';
import { answer, described } from '../http/field-schemas.ts';
import { AppError, unavailable } from '../http/problem.ts';
import { Type } from '../http/type.ts';
import type { CheckpointJob } from '../log/checkpoint.job.ts';
import { haltReason } from '../log/checkpoint.store.ts';
import { type Database, unavailability } from '../postgres/db.ts';
import type { Metrics } from './metrics.ts';
import { probeWrite } from './ready.store.ts';
import { sharedWhileRunning } from './shared-while-running.ts';

const Healthy = described('Health', 'Yes.', { status: Type.Literal('ok') });
const Ready = described(
  'Readiness',
  'Yes. With `store_lost` it records and reads, and signs nothing.',
  {
    status: Type.Union([Type.Literal('ok'), Type.Literal('store_lost')]),
  },
);

interface OperationsDeps {
  config: Pick<Config, 'metricsToken'>;
  db: Database;
  metrics: Pick<Metrics, 'registry'>;
  checkpoints: Pick<CheckpointJob, 'storeLost'>;
}

export function operationsRoutes(app: FastifyInstance, deps: OperationsDeps): void {
  const { db, checkpoints } = deps;
  const { registry } = deps.metrics;
  const { metricsToken } = deps.config;
  // Public: a flood of calls must not become a flood of writes.
  const look = sharedWhileRunning(() =>
    Promise.all([haltReason(db, 2_000), probeWrite(db, 2_000)]),
  );
  const common = { config: { scope: 'public' as const } };
  app.get(
    '/healthz',
    {
      ...common,
      schema: {
        tags: ['Operations'],
        operationId: 'getHealth',
        summary: 'Is the process alive',
        description: 'For a supervisor: it asks nothing of the database.',
        response: { 200: Healthy },
      },
    },
    async () => ({ status: 'ok' }),
  );
  app.get(
    '/readyz',
    {
      ...common,
      schema: {
        tags: ['Operations'],
        operationId: 'getReadiness',
        summary: 'Can it record and read',
        description:
          'For a load balancer: `503` without the database, and while recording is stopped. ' +
          'Without the object store recording goes on: `200` with `store_lost`.',
        response: { 200: Ready },
      },
    },
    async () => {
      // A load balancer has a shorter timeout than other callers.
      const [halted, waiting] = await look().catch((error: unknown) => {
        throw unavailable(unavailability(error) ?? 'the database is not available');
      });
      if (halted !== null)
        throw unavailable('recording is stopped; the log of the service says why');
      if (waiting) throw unavailable('commits wait for a replica, and none is connected');
      return { status: checkpoints.storeLost === null ? 'ok' : 'store_lost' };
    },
  );
  app.get(
    '/metrics',
    {
      ...common,
      schema: {
        tags: ['Operations'],
        operationId: 'getMetrics',
        summary: 'Prometheus metrics',
        description: 'With METRICS_TOKEN set: `Authorization: Bearer <token>`.',
        response: { 200: answer('Text exposition format.', ['text/plain', Type.String()]) },
      },
    },
    async (request, reply) => {
      const sent = request.headers.authorization ?? '';
      if (metricsToken !== null && !sameText(sent, `Bearer ${metricsToken}`)) {
        throw new AppError('unauthenticated', 'the metrics need their token');
      }
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
}

// Hashed first, so that the duration shows nothing, not even the length.
const sameText = (a: string, b: string) => timingSafeEqual(shaOfText(a), shaOfText(b));
