import { randomUUID } from 'node:crypto';
import { checkpointOf, publishedRounds } from '@indelible/testing/checkpoints';
import { growLog } from '@indelible/testing/grow-log';
import { expectLogIntact, expectTreeIntact } from '@indelible/testing/intact';
import { rewindable } from '@indelible/testing/rewindable';
import { type CallOptions, callOn, eventOf } from '@indelible/testing/service';
import type pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import type { App } from '../app.ts';
import { reopenLog } from '../operations/reopen.command.ts';

/*
 * The damage is done as superuser, to a service of
 * its own each time: its logs stand still afterwards.
 */

type Rewindable = Awaited<ReturnType<typeof rewindable>>;

/** 1 if a process has stopped recording. */
const isHalted = ({ metric }: Rewindable, on?: App) => metric('indelible_log_halted', on);

async function sizes(owner: pg.Client): Promise<Record<string, number>> {
  const { rows } = await owner.query('SELECT tenant_id, size::int FROM log_heads');
  return Object.fromEntries(rows.map(({ tenant_id, size }) => [tenant_id, size]));
}

/** A service whose database lost `lost` published events of a tenant by a restore. */
async function rewound(lost = 5) {
  const service = await rewindable();
  const tenant = await service.tenant();
  await service.record(tenant.key, 3);
  await service.tick();
  const backup = await service.backups.take();
  await service.record(tenant.key, lost);
  await service.tick();
  const future = await checkpointOf(service.app, tenant.key);
  await service.backups.restore(backup);
  return { service, tenant, future, owner: await service.newOwner() };
}

/* One rewound service for what it then does and does not do, in this order. */

const { service: stopped, tenant: loser, owner: stoppedOwner } = await rewound();
const bystander = await stopped.process();

test('a database that is rewound under a running service stops it at the next round', async () => {
  // Connections come back by themselves; the service notices at the next round.
  await stopped.record(loser.key, 1);
  expect(await isHalted(stopped)).toBe(0);
  await stopped.tick();
  expect(await isHalted(stopped)).toBe(1);
  // The operator is told which log it is, and the ways on.
  const reason = await stopped.halted();
  expect(reason).toMatch(/round \d+ is already published, and .* 6 of the 10 entries it promises/);
  expect(reason).toContain('indelible log reopen');
  const logIds = await logIdsOf(stoppedOwner);
  expect(logIds.some((logId) => reason?.includes(logId))).toBe(true);
});

async function logIdsOf(owner: pg.Client): Promise<string[]> {
  const { rows } = await owner.query('SELECT log_id::text AS id FROM log_heads');
  return rows.map(({ id }) => id);
}

test('while the logs stand still nothing is recorded, and callers learn why, but not which log', async () => {
  const before = await sizes(stoppedOwner);
  const logIds = await logIdsOf(stoppedOwner);
  const operator = { 'x-tenant-id': loser.id, 'x-access-reason': 'why' };
  const body = { name: 'New', plan: 'Pro' };
  const events = Array.from({ length: 700 }, () => eventOf());
  const refused: CallOptions[] = [
    { method: 'POST', url: '/api/audit-logs', key: loser.key, body: eventOf() },
    { method: 'POST', url: '/api/audit-logs/batch', key: loser.key, body: { events } },
    { method: 'PUT', url: `/api/tenants/${loser.id}`, body: { name: 'Other' } },
    { method: 'PUT', url: `/api/tenants/${randomUUID()}`, body },
    { url: '/api/audit-logs', headers: operator },
  ];
  for (const options of refused) {
    const { status, headers, body } = await stopped.call(options);
    expect({ status, code: body.code }, options.url).toEqual({ status: 503, code: 'unavailable' });
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(body.detail).toMatch(
      /^recording is stopped, because the log contradicts its published checkpoints/,
    );
    for (const logId of logIds) expect(body.detail).not.toContain(logId);
  }
  expect(await sizes(stoppedOwner)).toEqual(before);
  // The one reason for all of them is not looked for event by event.
  const { text } = await stopped.call({ url: '/metrics', key: null });
  const flushes = Number(/^indelible_flush_failures_total (\d+)$/m.exec(text)?.[1]);
  expect(flushes).toBeLessThan(10);
  const { rows } = await stoppedOwner.query('SELECT count(*)::int FROM tenants');
  expect(rows[0].count).toBe(1);
  const ready = await stopped.call({ url: '/readyz', key: null });
  expect(ready.status).toBe(503);
  expect(ready.body.detail).toBe('recording is stopped; the log of the service says why');
  expect((await stopped.call({ url: '/healthz', key: null })).status).toBe(200);
  await expectLogIntact({ owner: stoppedOwner }, loser.id);
});

test('every process stops and says so, also those that did not find it, and those that start later', async () => {
  const before = await sizes(stoppedOwner);
  await bystander.checkpoints.tick();
  const later = await stopped.process();
  await later.checkpoints.tick();
  const { key } = loser;
  for (const app of [stopped.app, bystander, later]) {
    expect(await isHalted(stopped, app)).toBe(1);
    expect((await stopped.post(key, app)).status).toBe(503);
    expect((await callOn(app, { url: '/readyz', key: null })).status).toBe(503);
  }
  expect(await sizes(stoppedOwner)).toEqual(before);
});

test('while the logs stand still a tenant reads on, but nothing new is signed', async () => {
  const { app, call, dataDir, tick } = stopped;
  const { id, key } = loser;
  const list = await call({ url: '/api/audit-logs', key });
  expect({ status: list.status, count: list.body.data.length }).toEqual({ status: 200, count: 6 });
  const proof = (n: number) => call({ url: `/api/audit-logs/${list.body.data[n].id}/proof`, key });
  expect((await proof(5)).status).toBe(200);
  expect((await checkpointOf(app, key)).size).toBe(5);
  const rounds = publishedRounds(dataDir).length;
  const newest = await proof(0); // recorded after the restore, before anybody knew
  expect({ status: newest.status, code: newest.body.code }).toEqual({
    status: 503,
    code: 'unavailable',
  });
  expect(newest.body.detail).toContain('recording is stopped');
  // Without a checkpoint to answer with, another would have to be signed.
  await stoppedOwner.query('DELETE FROM log_checkpoints WHERE tenant_id = $1', [id]);
  expect((await call({ url: '/api/audit-logs/checkpoint', key })).status).toBe(503);
  await tick();
  expect(publishedRounds(dataDir)).toHaveLength(rounds);
});

test('a service that starts on a restored database finds out before it records anything', async () => {
  const { service, owner } = await rewound();
  const before = await sizes(owner);
  const started = await service.process();
  await started.checkpoints.tick();
  expect(await isHalted(service, started)).toBe(1);
  expect(await sizes(owner)).toEqual(before);
});

test('a restored log that has grown longer than what was published is found out all the same', async () => {
  const { service, tenant, future, owner } = await rewound(5);
  await service.record(tenant.key, 50);
  expect((await sizes(owner))[tenant.id]).toBeGreaterThan(future.size);
  await service.tick();
  expect(await isHalted(service)).toBe(1);
  expect(await service.halted()).toMatch(/the first 10 entries of the log \S+ differ/);
});

test('a tenant that came after the backup is missed', async () => {
  const service = await rewindable();
  await service.tenant();
  await service.tick();
  const backup = await service.backups.take();
  await service.tenant();
  await service.tick();
  await service.backups.restore(backup);
  await service.tick();
  expect(await isHalted(service)).toBe(1);
  expect(await service.halted()).toMatch(/the log \S+ it names does not exist/);
});

test('a backup that lost nothing is no false alarm', async () => {
  const service = await rewindable();
  const { id, key } = await service.tenant();
  await service.tick();
  await service.record(key, 3);
  // Everything is recorded, two rounds are not known to the backup.
  const backup = await service.backups.take();
  await service.tick();
  const { note, size } = await checkpointOf(service.app, key);
  await service.backups.restore(backup);
  expect((await checkpointOf(service.app, key)).size).toBeLessThan(size);
  await service.tick();
  expect(await isHalted(service)).toBe(0);
  expect((await checkpointOf(service.app, key)).note).toBe(note);
  await service.record(key, 2);
  await service.tick();
  expect((await checkpointOf(service.app, key)).size).toBe(size + 2);
  const rounds = publishedRounds(service.dataDir).map(({ round }) => round);
  expect(rounds).toEqual(rounds.map((_each, n) => n + 1));
  await expectLogIntact({ owner: await service.newOwner() }, id);
});

/* Damage in place, one tenant after the other of one service; afterwards its log is reopened. */

const whole = await rewindable();
const { owner } = whole;

afterEach(async () => {
  if ((await whole.halted()) === null) return;
  await reopenLog(whole.env);
  await whole.tick();
  expect(await isHalted(whole)).toBe(0);
});

const cut = (size: string) =>
  `WITH head AS (UPDATE log_heads SET size = ${size}, frontier = $2 WHERE tenant_id = $1 RETURNING size)
   DELETE FROM log_tail USING head WHERE tenant_id = $1 AND sequence >= head.size`;

/**
 * Each with what the operator reads, and the entries that are left to go on with. The log has 40
 * entries, or 300, all of them published.
 */
const damages: [string, { sql: string; finding: RegExp; left: number; size?: number }][] = [
  ['its end is cut off', { sql: cut('32'), finding: /has 32 entries, but 40 were/, left: 32 }],
  ['it is emptied', { sql: cut('0'), finding: /has 0 entries, but 40 were/, left: 0 }],
  [
    'its newest entry is deleted',
    {
      sql: 'DELETE FROM log_tail WHERE tenant_id = $1 AND sequence = 39',
      finding: /the last of the 40 entries .* is not stored/,
      left: 39,
    },
  ],
  [
    'its head is deleted',
    {
      sql: 'DELETE FROM log_heads WHERE tenant_id = $1',
      finding: /has 0 entries, but 300 were published/,
      left: 300,
      size: 300,
    },
  ],
  [
    'its head is given another id',
    {
      sql: 'UPDATE log_heads SET log_id = md5(log_id::text)::uuid WHERE tenant_id = $1',
      finding: /has 0 entries, but 40 were published/,
      left: 40,
    },
  ],
  [
    'its head is set back',
    {
      sql: `UPDATE log_heads SET size = 256, frontier = (SELECT hash FROM log_tiles WHERE tenant_id = $1)
        WHERE tenant_id = $1`,
      finding: /256 entries has further entries behind its end/,
      left: 300,
      size: 300,
    },
  ],
  ...[1, 0].map((left): (typeof damages)[number] => [
    `its head and all but ${left} entries are deleted`,
    {
      sql: `WITH gone AS (DELETE FROM log_heads WHERE tenant_id = $1)
        DELETE FROM log_tail WHERE tenant_id = $1 AND sequence >= ${left}`,
      finding: /has 0 entries, but 40 were published/,
      left,
    },
  ]),
];

test.each(damages)(
  'a log is stopped at the next round when %s in place, and goes on with what is left',
  async (_, { sql, finding, left, size = 40 }) => {
    const { id, key, origin } = await published(size);
    const { rowCount } = await owner.query(
      sql,
      sql.includes('$2') ? [id, await frontierOf(id, left)] : [id],
    );
    expect(rowCount).toBeGreaterThan(0);
    await whole.tick();
    expect(await whole.halted()).toMatch(finding);
    expect(await isHalted(whole)).toBe(1);
    expect(await reopenLog(whole.env)).toContainEqual(
      expect.objectContaining({ tenantId: id, size: left, publishedSize: size }),
    );
    await whole.record(key, 300); // over the edge of a tile
    await whole.tick();
    const next = await checkpointOf(whole.app, key);
    expect(next.size).toBe(left + 301); // with the record of the reopening
    expect(next.origin).not.toBe(origin);
    await expectTreeIntact(whole, id);
  },
);

/** The frontier of the first 32 of 40 entries, which are a subtree, or of none. */
async function frontierOf(tenantId: string, size: number): Promise<Buffer> {
  const head = 'SELECT frontier FROM log_heads WHERE tenant_id = $1';
  const { rows } = await owner.query(head, [tenantId]);
  return rows[0].frontier.subarray(0, size);
}

/** Damage that shows when the log grows: what would be signed does not continue what was. */
const forks: Record<string, string> = {
  'an entry that is not signed yet is changed':
    'UPDATE log_tail SET entry = set_byte(entry, 40, 255 - get_byte(entry, 40)) WHERE tenant_id = $1 AND sequence = 42',
  'its head hashes to something else':
    'UPDATE log_heads SET frontier = set_byte(frontier, 3, 255 - get_byte(frontier, 3)) WHERE tenant_id = $1',
  'an entry in between is deleted': 'DELETE FROM log_tail WHERE tenant_id = $1 AND sequence = 41',
};

test.each(Object.entries(forks))('a log that has grown is not signed when %s', async (_, sql) => {
  const tenant = await published();
  await growLog(whole, tenant.id, 44);
  expect((await owner.query(sql, [tenant.id])).rowCount).toBe(1);
  const rounds = publishedRounds(whole.dataDir).length;
  await whole.tick();
  expect(await whole.halted()).toMatch(/does not continue the 40 entries that were published/);
  expect(publishedRounds(whole.dataDir)).toHaveLength(rounds);
});

test('an entry that was received before the one it follows is not signed: capsules would lack events', async () => {
  const tenant = await published();
  await owner.query('UPDATE log_heads SET last_received_us = 0 WHERE tenant_id = $1', [tenant.id]);
  await growLog(whole, tenant.id, 44);
  await whole.tick();
  expect(await whole.halted()).toMatch(/an entry of the log \S+ was received before the entry it/);
  expect(await reopenLog(whole.env)).toContainEqual(
    expect.objectContaining({ tenantId: tenant.id, size: 40 }),
  );
});

test('a log that was cut and grew again beyond what was published is stopped', async () => {
  const tenant = await published();
  await owner.query(cut('32'), [tenant.id, await frontierOf(tenant.id, 32)]);
  await whole.record(tenant.key, 30);
  await whole.tick();
  expect(await whole.halted()).toMatch(/does not continue the 40 entries/);
});

test('a log of which nothing is published yet is signed only as far as it is stored', async () => {
  const { id } = await whole.tenant();
  await growLog(whole, id, 20);
  const rounds = publishedRounds(whole.dataDir).length;
  await owner.query('DELETE FROM log_tail WHERE tenant_id = $1 AND sequence = 7', [id]);
  await whole.tick();
  expect(await whole.halted()).toMatch(/the 20 entries of the log \S+ are not all stored/);
  expect(publishedRounds(whole.dataDir)).toHaveLength(rounds);
});

/** A tenant with a log of so many published entries. */
async function published(entries = 40) {
  const tenant = await whole.tenant();
  await growLog(whole, tenant.id, entries);
  await whole.tick();
  const { size, origin } = await checkpointOf(whole.app, tenant.key);
  expect(size).toBe(entries);
  return { ...tenant, origin };
}
