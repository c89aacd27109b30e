import { randomBytes } from 'node:crypto';
import { eventIdFromUuid, eventUuid, uuidFromEventId } from '@indelible/protocol';
import { atEnd } from '@indelible/testing/at-end';
import { clusterNodes } from '@indelible/testing/cluster';
import { expectLogIntact } from '@indelible/testing/intact';
import { PostgresProxy } from '@indelible/testing/postgres-proxy';
import {
  eventOf,
  platformKey,
  post as postTo,
  serviceOn,
  testService,
} from '@indelible/testing/service';
import type pg from 'pg';
import { expect, test } from 'vitest';
import type { App } from '../app.ts';

/* What a commit that breaks costs: nothing that was acknowledged, and nothing twice. */

/** A service on a fresh database, whose every connection goes through a proxy that can break it. */
async function serviceBehindProxy(settings: Record<string, string> = {}) {
  const service = await testService();
  const proxy = new PostgresProxy(service.servingUrl);
  const url = new URL(await proxy.open(service.servingUrl));
  for (const [name, value] of Object.entries(settings)) url.searchParams.set(name, value);
  const { app, close } = await serviceOn(url.href, service.clock, { DATA_DIR: service.dataDir });
  atEnd(async () => {
    await close();
    await proxy.close();
    await service.close();
  });
  const { id: tenantId } = await service.tenant();
  // Its partition is there afterwards, so that the next COMMIT is that of the events.
  expect((await post(app, tenantId, [idNow(service.clock.now)])).status).toBe(201);
  return { service, proxy, app, tenantId };
}

const idNow = (nowMs: number) => eventIdFromUuid(eventUuid(nowMs, randomBytes(10)));

/** Records events with these ids, one alone or several as a batch. */
async function post(app: App, tenantId: string, ids: string[]) {
  const events = ids.map((id) => eventOf({ tenantId, id }));
  const [first = {}, ...more] = events;
  const { status, body } = await postTo(app, platformKey, more.length > 0 ? { events } : first);
  const sequences: number[] = [body.results ?? body]
    .flat()
    .map((each: { sequence: number }) => each.sequence);
  return { status, sequences };
}

/** Where these events are stored, in the order of their ids; those that are not are left out. */
async function sequencesOf(owner: pg.Client, tenantId: string, ids: string[]): Promise<number[]> {
  const { rows } = await owner.query<{ sequence: number }>(
    `SELECT sequence::int FROM audit_events JOIN unnest($2::uuid[]) WITH ORDINALITY AS w (i, n) ON id = i
      WHERE tenant_id = $1 ORDER BY n`,
    [tenantId, ids.map(uuidFromEventId)],
  );
  return rows.map(({ sequence }) => sequence);
}

test('when the commit is done but its answer is lost, the same id again gets 200 and the stored sequence', async () => {
  const { service, proxy, app, tenantId } = await serviceBehindProxy();
  for (const count of [1, 30]) {
    const ids = Array.from({ length: count }, () => idNow(service.clock.now));
    proxy.breakNextCommit('answer lost');
    expect((await post(app, tenantId, ids)).status).toBe(503);
    const stored = await sequencesOf(service.owner, tenantId, ids);
    expect(stored.length).toBe(count);
    const again = await post(app, tenantId, ids);
    expect(again).toMatchObject({ status: 200, sequences: stored });
  }
  expect(proxy.broken).toBe(2);
  await expectLogIntact(service, tenantId);
});

test('when the commit itself is lost, nothing is stored, and the same id again is recorded', async () => {
  const { service, proxy, app, tenantId } = await serviceBehindProxy();
  const ids = [idNow(service.clock.now)];
  proxy.breakNextCommit('commit lost');
  expect((await post(app, tenantId, ids)).status).toBe(503);
  expect(await sequencesOf(service.owner, tenantId, ids)).toEqual([]);
  expect((await post(app, tenantId, ids)).status).toBe(201);
  await expectLogIntact(service, tenantId);
});

test('a database that falls silent costs 503, not a hang, and is used again once it speaks', async () => {
  const { service, proxy, app, tenantId } = await serviceBehindProxy({ query_timeout: '500' });
  const ids = [idNow(service.clock.now)];
  proxy.breakNextCommit('silence');
  expect((await post(app, tenantId, ids)).status).toBe(503);
  const stored = await sequencesOf(service.owner, tenantId, ids);
  const again = () => post(app, tenantId, ids);
  // On a cluster the commit that was cut off locks its log until it is recovered.
  if (clusterNodes().length > 0) await expect.poll(async () => (await again()).status).toBe(200);
  expect(await again()).toMatchObject({ status: 200, sequences: stored });
  await expectLogIntact(service, tenantId);
});

test('an event whose producer hung up before the answer is stored once, whatever it sends again', async () => {
  const { service, app, tenantId } = await serviceBehindProxy();
  const url = await app.http.listen({ host: '127.0.0.1', port: 0 });
  const ids = [idNow(service.clock.now)];
  await service.owner.query('BEGIN');
  await service.owner.query('SELECT FROM log_heads WHERE tenant_id = $1 FOR UPDATE', [tenantId]);
  const hangUp = new AbortController();
  const sent = fetch(`${url}/api/audit-logs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platformKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(eventOf({ tenantId, id: ids[0] })),
    signal: hangUp.signal,
  });
  await expect.poll(() => app.groupCommit.depth().events).toBe(1);
  hangUp.abort();
  await expect(sent).rejects.toThrow();
  await service.owner.query('COMMIT');
  await expect.poll(() => app.groupCommit.depth().events).toBe(0);
  const stored = await sequencesOf(service.owner, tenantId, ids);
  expect(await post(app, tenantId, ids)).toMatchObject({ status: 200, sequences: stored });
  await expectLogIntact(service, tenantId);
});
