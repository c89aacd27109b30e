import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultCatalogue } from '@indelible/protocol';
import { archiveNow, archiveOf, configOf } from '@indelible/testing/archived';
import { recordAll, recordMany } from '@indelible/testing/event-pool';
import { expectLogIntact } from '@indelible/testing/intact';
import { partFiles, rowsBelow } from '@indelible/testing/parquet';
import {
  beginDetaching,
  change,
  day,
  longReader,
  partitionName,
  recordAt,
  run,
  tenantOf,
} from '@indelible/testing/retention-setup';
import { platformKey, testService } from '@indelible/testing/service';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { demoHistory } from '../../../cli/src/demo/history.ts';
import { demoTenants } from '../../../cli/src/demo/load-demo.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { withOwnerSession } from '../postgres/db.ts';
import { recordOwnIn } from '../record/own-events.store.ts';
import { removalEvent } from '../retention/removal.ts';
import { archiveInBackground, archiveWhenDue } from './command.ts';
import { parseManifest } from './manifest.ts';
import { takeArchiveLock } from './store.ts';

const service = await testService();

const folder = join(service.dataDir, 'objects');

const manifestsOf = (tenantId: string) =>
  readdirSync(join(folder, 'archive', `tenant=${tenantId}`), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) =>
      parseManifest(readFileSync(join(folder, 'archive', `tenant=${tenantId}`, name))),
    );

test('a run puts every event of an Enterprise tenant into Parquet files', async () => {
  const { id, key } = await service.tenant();
  await recordMany(service, key, 20, { before: { n: 1 }, after: { n: 2 }, diff: undefined });
  const { problem, parts } = await archiveOf(service, id);
  expect(problem).toBe(null);
  expect(parts.map(({ first, last, events }) => [first, last, events])).toEqual([[0, 21, 22]]);
  const root = `${folder}/archive/tenant=${id}`;
  const people = await rowsBelow(root, partFiles.identity);
  const rows = (await rowsBelow(root, partFiles.events)).map((row, n) => ({
    ...people[n],
    ...row,
  }));
  expect(rows).toHaveLength(22);
  expect(rows.map(({ sequence }) => Number(sequence))).toEqual(
    Array.from({ length: 22 }, (_, n) => n),
  );
  const single = await service.call({ url: `/api/audit-logs/${rows[21]?.id}`, key });
  expect(rows[21]).toMatchObject({
    id: single.body.id,
    timestamp: 1_000n * BigInt(Date.parse(single.body.timestamp)),
    actor_id: single.body.actor.id,
    actor_email: single.body.actor.email,
    actor_user_agent: single.body.actor.userAgent,
    action: single.body.action,
    resource_type: single.body.resource.type,
    resource_name: single.body.resource.name,
    diff: JSON.stringify(single.body.diff),
    before: JSON.stringify(single.body.before),
    after: JSON.stringify(single.body.after),
    cross_tenant: false,
    commitment: null,
  });
  await expectLogIntact(service, id);
});

test('only Enterprise tenants are archived, held ones too, and one that leaves keeps what there is', async () => {
  const [starter, pro, held] = [
    await service.tenant('Starter'),
    await service.tenant('Pro'),
    await service.tenant(),
  ];
  const put = (id: string, body: object) =>
    service.call({
      method: 'PUT',
      url: `/api/tenants/${id}`,
      body,
      headers: { 'x-access-reason': 'agreed' },
    });
  await put(held.id, { legalHold: true });
  const archived = (await archiveNow(service)).map(({ tenantId }) => tenantId);
  expect(archived).toContain(held.id);
  expect(archived).not.toContain(starter.id);
  expect(archived).not.toContain(pro.id);
  expect(manifestsOf(held.id)[0]?.cutoff).toBe(null);
  await put(held.id, { plan: 'Pro' });
  expect((await archiveNow(service)).map(({ tenantId }) => tenantId)).not.toContain(held.id);
  expect(manifestsOf(held.id)).toHaveLength(1);
});

test('a run is recorded in the log, and what is recorded of it alone makes no further part', async () => {
  const { id, key } = await service.tenant();
  const first = await archiveOf(service, id);
  expect(first.parts).toHaveLength(1);
  const { body } = await service.call({ url: '/api/audit-logs?resource=archive', key });
  expect(body.data[0]).toMatchObject({
    action: 'export',
    category: 'data_access',
    resource: { type: 'archive', id },
    recordedBy: { kind: 'service' },
  });
  const single = await service.call({ url: `/api/audit-logs/${body.data[0].id}`, key });
  const [part] = first.parts;
  const manifest = readFileSync(join(folder, `${part?.stem.replace(/\/(?=[^/]*$)/, '/_')}.json`));
  expect(single.body.after).toEqual({
    firstSequence: 0,
    lastSequence: part?.last,
    events: part?.events,
    bytes: part?.bytes,
    manifestSha256: hash('sha256', manifest, 'hex'),
  });
  for (let run = 0; run < 2; run += 1) {
    expect(await archiveOf(service, id)).toMatchObject({ parts: [], problem: null });
  }
  await recordMany(service, key, 1);
  const next = await archiveOf(service, id);
  expect(next.parts).toMatchObject([{ first: (part?.last ?? 0) + 1, events: 2 }]);
  await expectLogIntact(service, id);
});

test('parts end at their limit and with the month of receipt, without a gap', async () => {
  const { now } = service.clock;
  service.clock.now = Date.UTC(2027, 0, 31, 23, 0);
  const { id, key } = await service.tenant();
  await recordMany(service, key, 28);
  service.clock.now = Date.UTC(2027, 1, 1, 1, 0);
  await recordMany(service, key, 3);
  const { parts, problem } = await archiveOf(service, id, {
    limits: { entries: 20, characters: 1e6 },
  });
  expect(problem).toBe(null);
  const month = (text: string) => `archive/tenant=${id}/year=2027/month=${text}`;
  expect(parts.map(({ stem }) => stem)).toEqual([
    `${month('01')}/000000000000-000000000019`,
    `${month('01')}/000000000020-000000000029`,
    `${month('02')}/000000000030-000000000032`,
  ]);
  const manifests = manifestsOf(id);
  expect(manifests.map(({ consistency }) => consistency.length > 0)).toEqual([true, true, false]);
  service.clock.now = now;
});

test('a part ends when its texts are as long as memory allows, and still holds one event at least', async () => {
  const { id, key } = await service.tenant();
  await recordMany(service, key, 4, { diff: { note: { from: null, to: 'x'.repeat(1_000) } } });
  const { parts } = await archiveOf(service, id, { limits: { entries: 100, characters: 1_000 } });
  expect(parts.map(({ first, last }) => [first, last])).toEqual([
    [0, 2],
    [3, 3],
    [4, 4],
    [5, 5],
  ]);
});

test('events that the plan no longer shows are not archived, though they are not removed yet', async () => {
  const { now } = service.clock;
  service.clock.now = Date.UTC(new Date(now).getUTCFullYear() - 7, 11, 31);
  const { id, key } = await service.tenant();
  const timestamp = new Date(service.clock.now).toISOString();
  await recordMany(service, key, 2, { timestamp });
  service.clock.now = now;
  await recordMany(service, key, 1, { timestamp }); // late: the plan shows it from now on
  service.clock.now = Date.UTC(new Date(now).getUTCFullYear() + 1, 0, 2);
  const { parts } = await archiveOf(service, id);
  expect(parts).toMatchObject([
    { first: 0, last: 3, events: 0 },
    { first: 4, last: 4, events: 1 },
  ]);
  expect(manifestsOf(id)[0]?.counts).toMatchObject({ entries: 4, events: 0, absent: 4 });
  service.clock.now = now;
});

test('events whose removal no checkpoint covers yet wait for the next run', async () => {
  const { id, key } = await service.tenant();
  await recordMany(service, key, 3);
  await service.app.checkpoints.tick();
  const remove = (objects: ObjectStore): ObjectStore => ({
    ...objects,
    // Between the look at the checkpoint and the first page, as a run of retention would.
    async list(prefix) {
      await service.owner.query('DELETE FROM audit_events WHERE tenant_id = $1 AND sequence = 2', [
        id,
      ]);
      await recordRemoval(id);
      return objects.list(prefix);
    },
  });
  const store = openObjectStore(configOf(service).objectStoreUrl);
  expect(await archiveOf(service, id, { objects: remove(store) })).toMatchObject({
    parts: [],
    problem: null,
  });
  const { parts } = await archiveOf(service, id);
  expect(parts).toMatchObject([{ first: 0, last: 5, events: 5 }]);
});

/** What retention records, by the code that records it. */
async function recordRemoval(tenantId: string): Promise<void> {
  const { now } = service.clock;
  await withOwnerSession(service.ownerUrl, async (owner) => {
    const recordOwn = await recordOwnIn(owner, defaultCatalogue, () => now);
    const removed = { tenantId, plan: 'Enterprise', cutoffMs: now, size: 3, count: 1 } as const;
    await owner.transaction((tx) => recordOwn(tx, tenantId, removalEvent(removed)));
  });
}

test('the demonstration takes at most 100 bytes an event, both files counted', async () => {
  const [{ cast, seed }] = demoTenants;
  const url = `/api/tenants/${cast.tenantId}`;
  await service.call({ method: 'PUT', url, body: { name: 'Demo', plan: 'Enterprise' } });
  const history = demoHistory(cast, seed, service.clock.now);
  await recordAll(service, platformKey, history);
  const { parts } = await archiveOf(service, cast.tenantId);
  const [part] = parts;
  expect(part?.events).toBeGreaterThan(5_000);
  const perEvent = (part?.bytes ?? 0) / (part?.events ?? 1);
  expect(perEvent).toBeGreaterThan(48);
  expect(perEvent).toBeLessThan(100);
});

test('while one process archives, another one does not', async () => {
  const { key } = await service.tenant();
  await recordMany(service, key, 1);
  await withOwnerSession(service.ownerUrl, async (owner) => {
    expect(await takeArchiveLock(owner)).toBe(true);
    await expect(archiveNow(service)).rejects.toThrow('another process is archiving');
  });
  expect((await archiveNow(service)).every(({ problem }) => problem === null)).toBe(true);
});

test('the service archives when its interval is over, and a restart does not put that off', async () => {
  const { key } = await service.tenant();
  const config = configOf(service);
  const hour = 3_600_000;
  const due = (atMs: number) => archiveWhenDue(config, service.ownerUrl, hour, { now: () => atMs });
  const { now } = service.clock;
  await due(now);
  await recordMany(service, key, 1);
  expect(await due(now + hour - 1)).toBe(null);
  expect(await due(now + hour)).not.toBe(null);
  expect(await due(now + hour + 1)).toBe(null);
  // A clock that was years ahead for a moment keeps nothing from being archived afterwards.
  const year = 365 * 24 * hour;
  expect(await due(now + 10 * year)).not.toBe(null);
  expect(await due(now + hour + 2)).not.toBe(null);
  expect(await due(now + hour + 3)).toBe(null);
});

test('with default settings the background work archives the events of an Enterprise tenant', async () => {
  const { id, key } = await service.tenant();
  await recordMany(service, key, 3);
  await service.app.checkpoints.tick();
  await service.owner.query("UPDATE archive_runs SET started_at = '-infinity'");
  const logger = pino({ level: 'silent' });
  const running = new AbortController().signal;
  const { ownerUrl } = service;
  expect(await archiveInBackground(ownerUrl, configOf(service), logger, running)).toBe(true);
  const names = await openObjectStore(configOf(service).objectStoreUrl).list(
    `archive/tenant=${id}`,
  );
  expect(names.filter((name) => name.endsWith('.parquet'))).toHaveLength(2);
  expect(names.filter((name) => name.endsWith('.json'))).toHaveLength(1);
});

test('a run that could not do its work is due again an hour later, not an interval', async () => {
  const { key } = await service.tenant();
  const config = configOf(service);
  const hour = 3_600_000;
  const now = service.clock.now + 30 * 24 * hour;
  const due = (atMs: number, stopping?: AbortSignal) =>
    archiveWhenDue(config, service.ownerUrl, 24 * hour, {
      now: () => atMs,
      ...(stopping && { stopping }),
    });
  await due(now);
  await recordMany(service, key, 1);
  const next = now + 24 * hour;
  await withOwnerSession(service.ownerUrl, async (owner) => {
    expect(await takeArchiveLock(owner)).toBe(true);
    expect(await due(next)).toBe(null);
  });
  expect(await due(next + hour - 1)).toBe(null);
  expect(await due(next + hour)).not.toBe(null);
  expect(await due(next + 25 * hour - 1)).toBe(null);
  expect(await due(next + 25 * hour, AbortSignal.abort())).toEqual([]);
  expect(await due(next + 26 * hour - 1), 'cut off by the end of a service').toBe(null);
  expect(await due(next + 26 * hour)).not.toBe(null);
  expect(await due(next + 50 * hour - 1)).toBe(null);
});

test('events that retention holds back for a moment are archived when they are visible again', {
  tags: 'plain',
}, async () => {
  const { now } = service.clock;
  const tenant = await tenantOf(service, 'Starter', 21);
  const old = now - 20 * day;
  await recordAt(service, tenant, old);
  service.clock.now = now + 15 * day;
  const { end } = await longReader(service);
  try {
    await beginDetaching(service, partitionName(0, old));
    await change(service, tenant, { plan: 'Enterprise' });
    const waiting = { parts: [], problem: null, waits: true };
    expect(await archiveOf(service, tenant.id)).toMatchObject(waiting);
    const later = service.clock.now + 365 * day;
    const due = (atMs: number) =>
      archiveWhenDue(configOf(service), service.ownerUrl, day, { now: () => atMs });
    expect(await due(later)).not.toBe(null);
    expect(await due(later + day / 24), 'an hour later').not.toBe(null);
  } finally {
    await end();
  }
  await run(service);
  const { parts } = await archiveOf(service, tenant.id);
  const archived = parts.reduce((sum, { events }) => sum + events, 0);
  expect(archived).toBe(parts.reduce((sum, { first, last }) => sum + last - first + 1, 0));
  service.clock.now = now;
});
