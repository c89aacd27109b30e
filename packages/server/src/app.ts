import { hkdfSync } from 'node:crypto';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import { type Authenticator, authenticateRoutes, createAuthenticator } from './access/auth.ts';
import { countBehind } from './alerts/cursor.store.ts';
import { createAlertWorker } from './alerts/evaluate.job.ts';
import { alertRoutes } from './alerts/routes.ts';
import { handleAlertMail } from './alerts/tell.ts';
import { apiKeyRoutes } from './api-keys/routes.ts';
import { findApiKey, noteApiKeyUse } from './api-keys/store.ts';
import { type AppDeps, wireCheckpoints, wireRecording } from './app-log.ts';
import type { Ended } from './background/every.ts';
import { createJobs } from './background/jobs.ts';
import type { LeasedWorker } from './background/leased-worker.ts';
import { type Background, createBackground } from './background.ts';
import type { Config } from './config.ts';
import { createSealer } from './crypto/sealed.ts';
import { openDigests } from './digests/digest.job.ts';
import { downloadRoutes } from './exports/download.routes.ts';
import { expireFiles, handleExports } from './exports/export.job.ts';
import { handleExportMail } from './exports/export-mail.job.ts';
import { FileThread } from './exports/file/file-thread.ts';
import { exportRoutes } from './exports/routes.ts';
import { limitBytesInFlight } from './http/bytes-in-flight.ts';
import { boundConnections } from './http/connections.ts';
import { pathPartLengthMax } from './http/field-schemas.ts';
import {
  acceptJsonOnly,
  enforceSchemas,
  refuseUnknownCalls,
  requestId,
  schemaController,
  sendProblem,
} from './http/http.ts';
import {
  addCommonHeaders,
  answerWithId,
  closeAfterLastAnswer,
  refuseUndocumentedParameters,
} from './http/http-hooks.ts';
import { builtPanel, capsulePage, panelRoutes } from './http/panel.ts';
import { askForBodies } from './http/request-framing.ts';
import { boundStrangersBodies } from './http/strangers-bodies.ts';
import { queueReads } from './http/tenant-reads.ts';
import { createCursorSeal } from './list/list-cursor.ts';
import { proofRoutes } from './list/proof.routes.ts';
import { readRoutes } from './list/read.routes.ts';
import { LogDamaged } from './log/entries.store.ts';
import { logRoutes } from './log/routes.ts';
import { openLog } from './log/store.ts';
import { freeBytes } from './operations/disk-space.ts';
import { createMetrics, type Metrics } from './operations/metrics.ts';
import { documentApi } from './operations/openapi.ts';
import { createPresence } from './operations/presence.ts';
import { databaseState } from './operations/processes.store.ts';
import { operationsRoutes } from './operations/routes.ts';
import { createMailer } from './outbound/mail.ts';
import { createOutbound, type Outbound } from './outbound/outbound.ts';
import type { Parts } from './parts.ts';
import { write } from './postgres/db.ts';
import type { GroupCommit } from './record/flush.ts';
import { refuseIdempotencyKeys } from './record/idempotency-key.ts';
import { recordRoutes } from './record/record.routes.ts';
import { handleRestores } from './restores/restore.job.ts';
import { restoreRoutes } from './restores/routes.ts';
import { searchRoutes } from './searches/routes.ts';
import { sessionCookie } from './sessions/cookie.ts';
import { type GateDeps, sessionGate } from './sessions/gate.ts';
import { isOwnOrigin } from './sessions/origin.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { viewerLinkRoutes } from './sessions/viewer-links.routes.ts';
import { openSources } from './sources/open-sources.ts';
import { statsRoutes } from './stats/stats.routes.ts';
import { tenantRoutes } from './tenants/routes.ts';
import { handleTermsMail } from './tenants/terms-mail.job.ts';
import { createWebhookWorker } from './webhooks/deliver.job.ts';
import { forgetDeliveries, keptMs } from './webhooks/deliveries.store.ts';
import { handleFailingMail } from './webhooks/failing-mail.job.ts';
import { countStates, type LeasedWebhook } from './webhooks/lease.store.ts';
import { webhookRoutes } from './webhooks/routes.ts';

export type App = Awaited<ReturnType<typeof buildApp>>;

/**
 * The whole service, ready to listen or to be injected into; it opens nothing and starts nothing.
 */
export async function buildApp(deps: AppDeps) {
  const { config, db, clock, logger, sessionSecret } = deps;
  const { now } = clock;
  const metrics = createMetrics(logger, (err) => {
    if (err instanceof LogDamaged) checkpoints.suspect(err.tenantIds);
  });
  const recording = await wireRecording(deps, metrics, () => webhooks.wake());
  const { groupCommit, recordQueued } = recording;
  const checkpoints = await wireCheckpoints(deps, metrics, recordQueued);
  const authenticator = openAuthenticator(deps);
  const { http, gate } = await openGuardedHttp(deps, metrics, authenticator);
  const publicUrl = () => config.publicUrl ?? localUrl(http, config);
  await documentApi(http, publicUrl);
  const ended = backgroundObserver(metrics, logger);
  const parts: Parts = {
    objects: deps.objects,
    plans: config.catalogue.plans,
    ...recording,
    now,
    jobs: createJobs(db, now, ended),
    ended,
    publicUrl,
    publishCheckpoint: () => checkpoints.onDemand(),
    mailer: createMailer({ ...config, logger, now }),
    sealer: createSealer(sessionSecret),
    outbound: openOutbound(deps),
  };
  metrics.watchDatabase(() => databaseState(db.writer));
  operationsRoutes(http, { config, db, metrics, checkpoints });
  recordRoutes(http, recording);
  // Before the single read: of two paths that fit, the first one says which methods there are.
  searchRoutes(http, { ...parts, capsulePage: () => capsulePage(deps.panelFolder) });
  restoreRoutes(http, parts);
  const { expireExports, closeFiles } = wireExports(http, deps, parts);
  const webhooks = wireWebhooks(http, deps, { ...parts, metrics });
  alertRoutes(http, parts);
  handleAlertMail(parts);
  metrics.watchAlerts(() => countBehind(db.writer));
  const alerts = createAlertWorker(parts);
  readRoutes(http, { ...parts, cursors: openCursorSeal(sessionSecret) });
  statsRoutes(http, parts);
  proofRoutes(http, parts);
  const tellSources = openSources(http, { ...parts, config, metrics });
  logRoutes(http, { ...parts, originHost: checkpoints.originHost });
  tenantRoutes(http, { ...parts, openLog, allowPrivate: config.webhookAllowPrivate });
  apiKeyRoutes(http, { ...parts, forgetKey: authenticator.forget });
  sessionRoutes(http, { ...parts, ...gate, ...authenticator, ...config.catalogue });
  viewerLinkRoutes(http, parts);
  await panelRoutes(http, { folder: deps.panelFolder ?? builtPanel, config, publicUrl });
  handleRestores({ ...parts, onError: reporter(logger, 'a restore secret cannot be opened') });
  handleTermsMail(parts);
  const queueDigests = openDigests({ ...parts, operatorEmails: config.operatorDigestEmails });
  const presence = createPresence({ ...deps, observer: metrics.presence });
  const background = createBackground({
    ...deps,
    ...parts,
    groupCommit,
    checkpoints,
    presence,
    webhooks,
    alerts,
    expireExports,
    tellSources,
    queueDigests,
    forgetDeliveries: () => write(db, (tx) => forgetDeliveries(tx, now() - keptMs)),
  });
  closeInOrder(http, background, groupCommit, closeFiles);
  // `serve.ts` starts the background work; closing `http` stops it.
  const { jobs } = parts;
  return { http, groupCommit, checkpoints, jobs, webhooks, alerts, background };
}

/** HTTP with what holds for every route: ids of answers, credentials, limits, strict parameters. */
async function openGuardedHttp(deps: AppDeps, metrics: Metrics, authenticator: Authenticator) {
  const http = openHttp(deps.config, deps.logger);
  closeAfterLastAnswer(http);
  answerWithId(http, metrics.request, deps.config.stalledMs);
  acceptJsonOnly(http);
  const gate = wireGate(http, deps);
  authenticateRoutes(http, authenticator, sessionGate(gate));
  await limitCalls(http, deps.config);
  refuseUndocumentedParameters(http);
  refuseIdempotencyKeys(http);
  return { http, gate };
}

function openCursorSeal(sessionSecret: string) {
  const key = hkdfSync('sha256', sessionSecret, '', 'indelible/list-cursor/v1', 32);
  return createCursorSeal(new Uint8Array(key));
}

/** The bounds of what callers may ask at the same time. */
async function limitCalls(http: FastifyInstance, config: Config): Promise<void> {
  queueReads(http, config.databasePoolSize);
  const { bodyBytesMax: bytesMax, roomWaitMs: waitMs, requestMs: readMs } = config;
  limitBytesInFlight(http, { bytesMax, waitMs, readMs });
  boundStrangersBodies(http, config.strangerBodyMs);
  boundConnections(http, config.connectionsMax);
  askForBodies(http);
}

/** No new work while requests are drained; then the events in the queue, then the work. */
function closeInOrder(
  http: FastifyInstance,
  background: Background,
  groupCommit: GroupCommit,
  closeFiles: () => Promise<void>,
): void {
  http.addHook('preClose', async () => background.pause());
  http.addHook('onClose', async () => {
    await groupCommit.drained();
    await background.stop();
    await closeFiles();
  });
}

function reporter(logger: Logger, sentence: string): (err: unknown) => void {
  return (err) => logger.error({ err }, sentence);
}

function backgroundObserver(metrics: Metrics, logger: Logger): Ended {
  return (work, ok, err) => {
    metrics.ran(work, ok);
    if (err !== undefined) logger.error({ work, err }, 'background work failed, and is repeated');
  };
}

function openHttp(config: Config, logger: Logger): FastifyInstance {
  const http: FastifyInstance = fastify({
    loggerInstance: logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: config.trustProxy,
    genReqId: ({ headers }) => requestId(headers),
    bodyLimit: 64 * 1024,
    requestTimeout: config.requestMs,
    http: {
      headersTimeout: config.requestMs,
      requireHostHeader: false, // a hook refuses such a request, with a problem document
      // An overdue connection stays open until the next check.
      connectionsCheckingInterval: config.requestMs / 10,
    },
    forceCloseConnections: 'idle',
    // What still arrives on an open connection is answered like anything else, and closes it.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 2 * pathPartLengthMax /* UTF-16 units */ },
    schemaController,
    // A path that cannot be read passes no hook.
    frameworkErrors: (error, request, reply) => {
      addCommonHeaders(request, reply);
      sendProblem(error, request, reply);
    },
  });
  http.setErrorHandler(sendProblem);
  enforceSchemas(http);
  refuseUnknownCalls(http);
  return http;
}

function openAuthenticator({ config, db, clock: { now } }: AppDeps): Authenticator {
  return createAuthenticator({
    auth: config.auth,
    platformApiKeys: config.platformApiKeys,
    now,
    findApiKey: (id) => findApiKey(db.writer, id),
    noteUse: (id, nowMs) => noteApiKeyUse(db.writer, id, nowMs),
  });
}

/** What lets the panel's sessions in. */
function wireGate(http: FastifyInstance, { config, db, clock: { now } }: AppDeps): GateDeps {
  const own = () => ({ publicUrl: config.publicUrl, listening: localUrl(http, config) });
  const cookie = sessionCookie(config);
  return { db, now, cookie, isOwnOrigin: (origin) => isOwnOrigin(origin, own()) };
}

// Only for a service that only this machine can reach; others have PUBLIC_URL.
function localUrl(http: FastifyInstance, { host, port }: Config): string {
  return http.server.listening ? http.listeningOrigin : `http://${host}:${port}`;
}

/** The one way out, with its rules. */
function openOutbound({ config, resolve }: AppDeps): Outbound {
  const rules = { allowPrivate: config.webhookAllowPrivate };
  return createOutbound(resolve ? { ...rules, resolve } : rules);
}

/** Files of events: made while they are sent, or by workers. */
function wireExports(http: FastifyInstance, { config, logger }: AppDeps, parts: Parts) {
  const onError = reporter(logger, 'an export has to wait, or failed');
  const { objectStoreUrl } = config;
  const { url: databaseUrl, poolerUrl } = parts.db;
  const settings = { databaseUrl, poolerUrl, objectStoreUrl };
  const files = new FileThread(settings, onError);
  const quota = {
    sentMax: config.exportsSentMax,
    unfinishedMax: config.exportsUnfinishedMax,
    keptBytesMax: config.exportBytesMax,
    hasDisk: async () => (await freeBytes(config)) >= config.diskBytesMin,
  };
  const deps = { ...parts, files, onError, quota };
  handleExports(deps);
  handleExportMail(deps);
  exportRoutes(http, deps);
  downloadRoutes(http, deps);
  return { expireExports: () => expireFiles(deps), closeFiles: () => files.close() };
}

/** Events delivered to webhooks. */
function wireWebhooks(
  http: FastifyInstance,
  { config, logger }: AppDeps,
  parts: Parts & { metrics: Metrics },
): LeasedWorker<LeasedWebhook> {
  const { metrics } = parts;
  const deps = {
    ...parts,
    allowPrivate: config.webhookAllowPrivate,
    chance: Math.random,
    attempted: metrics.webhooks.attempted,
    onError: reporter(logger, 'a webhook delivery was interrupted and is retried'),
  };
  const worker = createWebhookWorker(deps);
  metrics.webhooks.watch(() => countStates(deps.db.writer));
  handleFailingMail(deps);
  webhookRoutes(http, { ...deps, wake: () => worker.wake() });
  return worker;
}
