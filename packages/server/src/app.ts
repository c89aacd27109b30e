import { hash, hkdfSync } from 'node:crypto';
import { createCatalogue, createMasker } from '@indelible/protocol';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import { apiKeyRoutes } from './api-keys/routes.ts';
import { findApiKey } from './api-keys/store.ts';
import { createAuthenticator } from './auth.ts';
import type { Config } from './config.ts';
import { type Database, write } from './db.ts';
import { Recorder } from './events/flush.job.ts';
import { CursorSeal } from './events/list-cursor.ts';
import { prepareOwn, recordOwnWith } from './events/own-events.store.ts';
import { createPartitionKeeper, type PartitionWanted } from './events/partitions.ts';
import { readRoutes } from './events/read.routes.ts';
import { recordRoutes } from './events/record.routes.ts';
import { makePartitions, readServiceId } from './events/store.ts';
import { createUuidSource } from './events/uuid-source.ts';
import {
  acceptJsonOnly,
  refuseUnknownCalls,
  requestId,
  schemaCompiler,
  sendProblem,
} from './http.ts';
import { answerWithId, authenticateRoutes, limitReads } from './http-hooks.ts';
import { openLog } from './log/store.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { documentApi } from './openapi.ts';
import { operationsRoutes } from './operations.routes.ts';
import { AppError, unavailable } from './problem.ts';
import { createRandom } from './random.ts';
import { createSealer } from './sealed.ts';
import type { RecordAccess } from './tenant-access.ts';
import { tenantRoutes } from './tenants/routes.ts';

/** What a service is made of. `sessionSecret` seals cursors and secrets at rest; ≥ 32 bytes. */
export interface AppDeps {
  config: Config;
  db: Database;
  now: () => number;
  logger: Logger;
  sessionSecret: string;
}

export interface App {
  http: FastifyInstance;
  recorder: Recorder;
}

const sha = (data: Uint8Array): Uint8Array => hash('sha256', data, 'buffer');

/** The whole service, ready to listen or to be injected into; it opens nothing and starts nothing. */
export async function buildApp(deps: AppDeps): Promise<App> {
  const { config, db, now, logger, sessionSecret } = deps;
  const metrics = createMetrics((err) => logger.warn({ err }, 'a flush failed'));
  const recording = await wireRecording(deps, metrics);
  const { recorder, recordOwn, recordAccess } = recording;
  const findKey = findApiKey(db.writer);
  const { auth, platformApiKeys } = config;
  const authenticator = createAuthenticator({ auth, platformApiKeys, findApiKey: findKey, now });

  const http = openHttp(config, logger);
  answerWithId(http, metrics);
  acceptJsonOnly(http);
  authenticateRoutes(http, authenticator);
  await limitReads(http, config.rateLimitPerMinute);
  await documentApi(http);

  const publicUrl = () => config.publicUrl ?? localUrl(http, config);
  const cursorKey = hkdfSync('sha256', sessionSecret, '', 'indelible/list-cursor/v1', 32);
  const cursors = new CursorSeal(new Uint8Array(cursorKey));
  operationsRoutes(http, { db, registry: metrics.registry, metricsToken: config.metricsToken });
  recordRoutes(http, { ...recording, masker: createMasker(config.maskedKeys) });
  readRoutes(http, { db, now, cursors, recordAccess, publicUrl });
  tenantRoutes(http, { db, now, recordOwn, openLog, sealer: createSealer(sessionSecret) });
  apiKeyRoutes(http, { db, now, recordOwn, forgetKey: authenticator.forget });
  http.addHook('onClose', () => recorder.drained());
  return { http, recorder };
}

function openHttp(config: Config, logger: Logger): FastifyInstance {
  const http: FastifyInstance = fastify({
    loggerInstance: logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: config.trustProxy,
    genReqId: ({ headers }) => requestId(headers),
    bodyLimit: 64 * 1024,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 200 },
    frameworkErrors: (error, request, reply) => void sendProblem(error, request, reply),
  });
  http.setErrorHandler(sendProblem);
  http.setValidatorCompiler(schemaCompiler());
  http.setSerializerCompiler(() => JSON.stringify);
  refuseUnknownCalls(http);
  return http;
}

// Only for a service that nobody but this machine can reach; any other has PUBLIC_URL.
function localUrl(http: FastifyInstance, { host, port }: Config): string {
  return http.server.listening ? http.listeningOrigin : `http://${host}:${port}`;
}

/** Everything that appends to a log: the queue for producers, and what the service records itself. */
async function wireRecording({ config, db, now }: AppDeps, metrics: Metrics) {
  const catalogue = createCatalogue({ sensitiveTypes: config.sensitiveTypes });
  const make = (wanted: PartitionWanted[]) => write(db, (tx) => makePartitions(tx, wanted));
  const partitions = createPartitionKeeper(make);
  const { queueBytesMax } = config;
  const observer = metrics.flush;
  const recorder = new Recorder({ db, sha, now, partitions, observer, queueBytesMax });
  metrics.watchQueue(() => recorder.depth());
  const random = createRandom();
  const newUuid = createUuidSource(random);
  const serviceId = await readServiceId(db);
  const own = { sha, random, newUuid, catalogue, now, serviceId };
  const recordAccess: RecordAccess = async (tenantId, event) => {
    const [outcome] = await recorder.record([prepareOwn(own, tenantId, event)], null);
    if (outcome?.status === 'created') return;
    if (outcome?.status === 'rejected' && outcome.code === 'unknown_tenant') {
      throw new AppError('not_found', 'there is no such tenant');
    }
    throw unavailable('the access could not be recorded, so nothing is shown');
  };
  return { ...own, recorder, recordAccess, recordOwn: recordOwnWith({ ...own, partitions }) };
}
