import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { admin, Browser, viewerToken } from '@indelible/testing/browser';
import { newFolder } from '@indelible/testing/folders';
import { PostgresProxy } from '@indelible/testing/postgres-proxy';
import {
  eventOf,
  platformKey,
  serviceOn,
  type TestService,
  testService,
} from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';

const service = await testService();
const scratch = newFolder();
const cleanup: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const undo of cleanup.reverse()) await undo();
  rmSync(scratch, { recursive: true, maxRetries: 10 });
});

/** A further service process, in effect, with a folder of its own. */
async function further(servingUrl = service.servingUrl, env: Record<string, string> = {}) {
  const dataDir = mkdtempSync(join(scratch, 'data-'));
  const all = { DATA_DIR: dataDir, ...env };
  const { app, close } = await serviceOn(servingUrl, service.clock, all);
  cleanup.push(close);
  return { app, dataDir };
}

async function metricsOf(app = service.app): Promise<Map<string, number>> {
  const { payload } = await app.http.inject('/metrics');
  const lines = payload.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

test('work in the background is counted by how it ended', async () => {
  const tenant = await service.tenant('Pro');
  const reasoned = { 'x-access-reason': 'a%20smaller%20contract' };
  const put = (body: unknown) =>
    service.call({ method: 'PUT', url: `/api/tenants/${tenant.id}`, headers: reasoned, body });
  const counted = async (app: typeof service.app, outcome: string) => {
    const runs = await metricsOf(app);
    return runs.get(`indelible_background_runs_total{work="tenant-mail",outcome="${outcome}"}`);
  };
  expect((await put({ notifyEmails: ['ana@example.com'], plan: 'Starter' })).status).toBe(200);
  const closed = await further(service.servingUrl, { SMTP_URL: 'smtp://127.0.0.1:1' });
  await closed.app.jobs.start();
  await expect.poll(() => counted(closed.app, 'failed')).toBe(1);
  await closed.app.jobs.stop();
  expect((await put({ plan: 'Pro' })).status).toBe(200);
  expect((await put({ plan: 'Starter' })).status).toBe(200);
  const outbox = await further();
  await outbox.app.jobs.start();
  await expect.poll(() => counted(outbox.app, 'done')).toBe(1);
  expect(await counted(outbox.app, 'failed')).toBeUndefined();
});

test('liveness, readiness and metrics need no credential', async () => {
  for (const url of ['/healthz', '/readyz', '/metrics']) {
    const answer = await service.call({ url, key: null });
    expect(answer.status, url).toBe(200);
  }
  expect((await service.call({ url: '/healthz', key: null })).body).toEqual({ status: 'ok' });
});

test('a hundred questions for readiness at once are not a hundred writes', async () => {
  let asked = 0;
  const count = () => void asked++;
  service.db.operations.on('acquire', count);
  const answers = Array.from({ length: 100 }, () => service.call({ url: '/readyz', key: null }));
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
  service.db.operations.off('acquire', count);
  expect(asked).toBeLessThan(10);
});

test('the service is alive but not ready while the database is away, and ready again by itself', async () => {
  const proxy = new PostgresProxy(service.servingUrl);
  const { app } = await further(await proxy.open(service.servingUrl));
  cleanup.push(() => proxy.close());
  const statusOf = async (url: string) => (await app.http.inject(url)).statusCode;
  expect(await statusOf('/readyz')).toBe(200);
  proxy.cut();
  const away = await app.http.inject('/readyz');
  expect(away.statusCode).toBe(503);
  expect(away.headers['retry-after']).toBe('1');
  expect(away.json()).toMatchObject({ code: 'unavailable', status: 503 });
  expect(await statusOf('/healthz')).toBe(200);
  expect(await statusOf('/metrics')).toBe(200);
  proxy.mend();
  expect(await statusOf('/readyz')).toBe(200);
});

/** For all further sessions of the database; ends those that are there. */
async function setForAll({ owner }: TestService, setting: string): Promise<void> {
  await owner.query(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET ${setting}',
    current_database()); END $$`);
  await owner.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`);
}

test('the service is not ready while PostgreSQL can write no file, though rows have room', async () => {
  const service = await testService();
  cleanup.push(() => service.close());
  const limitFiles = (limit: string) => setForAll(service, `temp_file_limit = ${limit}`);
  const ready = async () => (await service.call({ url: '/readyz', key: null })).status;
  expect(await ready()).toBe(200);
  await limitFiles('0');
  await expect.poll(ready).toBe(503);
  expect((await service.tenant()).key).toBeTypeOf('string');
  expect(await ready()).toBe(503);
  await limitFiles('-1');
  await expect.poll(ready).toBe(200);
});

test('while the database is read-only, reads go on, writes answer 503, and the service is not ready', {
  tags: 'plain',
}, async () => {
  const service = await testService();
  cleanup.push(() => service.close());
  const tenant = await service.tenant();
  const readOnly = async (on: boolean) => {
    await setForAll(service, `default_transaction_read_only = ${on}`);
    await expect
      .poll(async () => (await service.call({ url: '/api/audit-logs', key: tenant.key })).status)
      .toBe(200);
  };
  const write = (url: string, body: unknown, method: 'POST' | 'PUT' = 'POST') =>
    service.call({ method, url, body });
  const event = eventOf({ tenantId: tenant.id });
  const visitor = new Browser(service.app);
  const token = await viewerToken(service.app, { tenantId: tenant.id, actor: admin() });
  expect((await visitor.signIn({ token })).status).toBe(200);
  await readOnly(true);
  service.clock.now += 60_000; // a read would prolong the session now
  expect((await visitor.call({ url: '/api/audit-logs' })).status).toBe(200);
  const answers = [
    await write('/api/audit-logs', event),
    await write('/api/audit-logs/batch', { events: [event, event] }),
    await write(`/api/tenants/${tenant.id}/api-keys`, { name: 'a', scopes: ['events:read'] }),
    await write(`/api/tenants/${randomUUID()}`, { name: 'Acme', plan: 'Pro' }, 'PUT'),
    await service.call({ url: '/readyz', key: null }),
  ];
  for (const { status, headers, body } of answers) {
    expect({ status, ...body }).toMatchObject({ status: 503, code: 'unavailable' });
    expect(body.detail).toContain('the database is read-only');
    expect(headers['retry-after']).toBe('1');
  }
  await readOnly(false);
  // An owner's connection that was opened before decides nothing: these are the service's own.
  await expect.poll(async () => (await write('/api/audit-logs', event)).status).toBe(201);
  expect((await service.call({ url: '/readyz', key: null })).status).toBe(200);
});

test('a request that comes while the service closes is answered like any other, and is the last on its connection', async () => {
  const { app } = await further();
  let answer: Response | undefined;
  // Closing has begun, and the server still takes connections.
  app.http.addHook('preClose', async () => {
    answer = await fetch(`${app.http.listeningOrigin}/healthz`);
  });
  await app.http.listen({ host: '127.0.0.1', port: 0 });
  await app.http.close();
  expect(answer?.status).toBe(200);
  expect(answer?.headers.get('connection')).toBe('close');
  expect(await answer?.json()).toEqual({ status: 'ok' });
});

test('with METRICS_TOKEN the metrics are shown to its holder alone', async () => {
  const token = 'a-token-for-the-scraper';
  const { app } = await further(undefined, { METRICS_TOKEN: token });
  const statusWith = async (authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization };
    return (await app.http.inject({ url: '/metrics', headers })).statusCode;
  };
  expect(await statusWith(`Bearer ${token}`)).toBe(200);
  for (const wrong of [
    undefined,
    '',
    token,
    'Bearer ',
    `Bearer ${token}x`,
    `Bearer ${platformKey}`,
  ]) {
    expect(await statusWith(wrong), wrong).toBe(401);
  }
});

test('requests, flushes, events and the queue show in the metrics as they happen, without tenants', async () => {
  const { app, dataDir } = await further();
  const tenant = await service.tenant();
  const post = (name: string, more: object = {}) =>
    app.http.inject({
      method: 'POST',
      url: '/api/audit-logs',
      headers: { authorization: `Bearer ${platformKey}`, 'content-type': 'application/json' },
      payload: JSON.stringify(
        eventOf({
          tenantId: tenant.id,
          resource: { type: 'queue', id: tenant.id, name },
          ...more,
        }),
      ),
    });
  await app.http.inject('/no/such/path');
  expect((await post('fine')).statusCode).toBe(201);
  expect((await post('fine', { action: 'login' })).statusCode).toBe(201);
  expect((await post('fine', { action: 'login' })).statusCode).toBe(201);
  await service.owner.query(
    `ALTER TABLE audit_events ADD CONSTRAINT no_poison CHECK (resource_name IS DISTINCT FROM 'poison')`,
  );
  expect((await post('poison')).statusCode).toBe(422);
  await service.owner.query('ALTER TABLE audit_events DROP CONSTRAINT no_poison');

  await service.owner.query('BEGIN');
  await service.owner.query('SELECT FROM log_heads WHERE tenant_id = $1 FOR UPDATE', [tenant.id]);
  const waiting = [post('fine'), post('fine')];
  await expect.poll(async () => (await metricsOf(app)).get('indelible_queue_events')).toBe(2);
  expect((await metricsOf(app)).get('indelible_queue_bytes')).toBeGreaterThan(1_000);
  await service.owner.query('COMMIT');
  await Promise.all(waiting);

  await app.checkpoints.tick();
  rmSync(join(dataDir, 'objects'), { recursive: true });
  writeFileSync(join(dataDir, 'objects'), 'a file where the object store was');
  expect((await post('fine')).statusCode).toBe(201);
  await app.checkpoints.tick();
  await app.background.run('sources');

  const metrics = await metricsOf(app);
  const requests = 'indelible_http_request_seconds_count';
  const recorded = '{method="POST",route="/api/audit-logs",status="201"}';
  expect(metrics.get(`${requests}${recorded}`)).toBe(6);
  expect(metrics.get(`${requests}{method="GET",route="unknown",status="404"}`)).toBe(1);
  expect(metrics.get('indelible_events_total{category="security"}')).toBe(2);
  expect(metrics.get('indelible_events_total{category="configuration"}')).toBeGreaterThanOrEqual(4);
  expect(metrics.get('indelible_flush_events_sum')).toBeGreaterThanOrEqual(6);
  expect(metrics.get('indelible_flush_seconds_sum')).toBeGreaterThan(0);
  expect(metrics.get('indelible_flush_seconds_count')).toBe(
    metrics.get('indelible_flush_events_count'),
  );
  expect(metrics.get('indelible_flush_failures_total')).toBe(1);
  expect(metrics.get('indelible_queue_events')).toBe(0);
  expect(metrics.get('indelible_queue_bytes')).toBe(0);
  expect(metrics.get('indelible_checkpoints_total')).toBeGreaterThan(0);
  expect(metrics.get('indelible_checkpoint_failures_total')).toBe(1);
  expect(metrics.get('indelible_log_halted')).toBe(0);
  expect(metrics.get('indelible_background_runs_total{work="sources",outcome="done"}')).toBe(1);
  const succeeded = 'indelible_background_succeeded_timestamp_seconds{work="sources"}';
  expect(metrics.get(succeeded)).toBeGreaterThan(service.clock.now / 1_000 - 3_600);
  expect(metrics.get('indelible_database_bytes')).toBeGreaterThan(1_000_000);
  const { rows } = await service.owner.query(
    'SELECT extract(epoch FROM seen_at)::float8 AS at FROM retention_clock',
  );
  const ran = metrics.get('indelible_retention_ran_timestamp_seconds');
  expect(ran).toBeCloseTo(rows[0].at, 2);
  expect(metrics.get('process_resident_memory_bytes')).toBeGreaterThan(0);
  const labels = [...metrics.keys()].join('\n');
  expect(labels).not.toContain(tenant.id);
  const names = new Set(labels.match(/^indelible_[a-z_]+?(?=_bucket|_sum|_count|\{|$)/gm));
  expect([...names].sort()).toEqual([
    ...['indelible_alerts_behind_entries', 'indelible_background_runs_total'],
    ...['indelible_background_succeeded_timestamp_seconds', 'indelible_checkpoint_failures_total'],
    ...['indelible_checkpoints_total', 'indelible_clock_ahead_seconds', 'indelible_database_bytes'],
    ...['indelible_disk_free_bytes', 'indelible_events_total', 'indelible_flush_events'],
    ...['indelible_flush_failures_total', 'indelible_flush_seconds'],
    ...['indelible_foreign_objects_total', 'indelible_http_request_seconds'],
    ...['indelible_jobs_wait_seconds', 'indelible_log_halted', 'indelible_misconfigured'],
    ...['indelible_queue_bytes', 'indelible_queue_events'],
    ...['indelible_retention_ran_timestamp_seconds', 'indelible_source_gaps'],
    ...['indelible_sources_silent', 'indelible_store_lost'],
    ...['indelible_webhook_behind_entries', 'indelible_webhooks'],
  ]);
});
