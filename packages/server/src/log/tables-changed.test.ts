import { randomUUID } from 'node:crypto';
import { checkpointOf, publishedRounds } from '@indelible/testing/checkpoints';
import { growLog } from '@indelible/testing/grow-log';
import { expectLogIntact, expectTreeIntact } from '@indelible/testing/intact';
import { rewindable } from '@indelible/testing/rewindable';
import { eventOf } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { reopenLog } from '../operations/reopen.command.ts';

/*
 * An attacker changes the tables of the log and covers it up; the object store stays.
 */

async function installation() {
  const service = await rewindable();
  const { owner } = service;
  /**
   * Cuts the log in place, with the head it then should have; all that a superuser can make right.
   */
  const cut = async (tenantId: string, size: number, frontier: Buffer) => {
    await owner.query('DELETE FROM log_tail WHERE tenant_id = $1 AND sequence >= $2', [
      tenantId,
      size,
    ]);
    await owner.query('DELETE FROM audit_events WHERE tenant_id = $1 AND sequence >= $2', [
      tenantId,
      size,
    ]);
    await owner.query('UPDATE log_heads SET size = $2, frontier = $3 WHERE tenant_id = $1', [
      tenantId,
      size,
      frontier,
    ]);
  };
  const frontierOf = async (tenantId: string): Promise<Buffer> =>
    (await owner.query('SELECT frontier FROM log_heads WHERE tenant_id = $1', [tenantId])).rows[0]
      .frontier;
  return { ...service, cut, frontierOf };
}

type Installation = Awaited<ReturnType<typeof installation>>;

/**
 * A tenant whose log of 23 entries is published, cut back to 20 as if the last three never were.
 */
async function cutBack(service: Installation) {
  const tenant = await service.tenant();
  await service.record(tenant.key, 18);
  await service.tick();
  const frontier = await service.frontierOf(tenant.id);
  await service.record(tenant.key, 3);
  await service.tick();
  const published = await checkpointOf(service.app, tenant.key);
  expect(published.size).toBe(23);
  await service.cut(tenant.id, 20, frontier);
  return { tenant, published };
}

const coverUps: Record<string, string> = {
  'the record of its checkpoint is deleted': 'DELETE FROM log_checkpoints WHERE tenant_id = $1',
  'its checkpoint is made to name what is left':
    'UPDATE log_checkpoints SET size = 20 WHERE tenant_id = $1',
  'the root of its checkpoint is changed':
    'UPDATE log_checkpoints SET root = set_byte(root, 3, 255 - get_byte(root, 3)) WHERE tenant_id = $1',
  'the note of its checkpoint is changed': `UPDATE log_checkpoints SET note = note || 'x' WHERE tenant_id = $1`,
  'its log is given another id, and no checkpoint is left':
    'WITH gone AS (DELETE FROM log_checkpoints WHERE tenant_id = $1) UPDATE log_heads SET log_id = md5(log_id::text)::uuid WHERE tenant_id = $1',
};

test.each(Object.entries(coverUps))(
  'a log that was cut back is not signed again when %s',
  async (_, sql) => {
    const service = await installation();
    const { tenant } = await cutBack(service);
    expect((await service.owner.query(sql, [tenant.id])).rowCount).toBe(1);
    const rounds = publishedRounds(service.dataDir).length;
    await service.post(tenant.key);
    await service.tick();
    expect(publishedRounds(service.dataDir)).toHaveLength(rounds);
    expect(await service.halted()).toMatch(
      /published checkpoints in the database are not those of round 2/,
    );
    expect((await service.post(tenant.key)).status).toBe(503);
  },
);

test('reopened, the log begins anew with what was published of it, though the database forgot', async () => {
  const service = await installation();
  const quiet = await service.tenant();
  const { tenant, published } = await cutBack(service);
  const kept = await checkpointOf(service.app, quiet.key);
  await service.owner.query('DELETE FROM log_checkpoints');
  await service.tick();
  expect(await service.halted()).not.toBeNull();
  const reopened = await reopenLog(service.env);
  expect(reopened).toContainEqual(
    expect.objectContaining({ tenantId: tenant.id, size: 20, publishedSize: 23 }),
  );
  const { text } = await service.call({
    url: `/api/audit-logs?action=reopen&resource_id=${tenant.id}&include=state`,
    key: tenant.key,
  });
  expect(JSON.parse(text).data[0].after.lastPublishedCheckpoint).toBe(published.note);
  expect((await service.post(tenant.key)).status).toBe(201);
  await service.tick();
  expect(await service.halted()).toBeNull();
  expect((await checkpointOf(service.app, tenant.key)).size).toBe(22);
  // The store gives back what was published of the other log too.
  const ofQuiet = await service.call({
    url: `/api/audit-logs?action=reopen&resource_id=${quiet.id}&include=state`,
    key: quiet.key,
  });
  expect(ofQuiet.body.data[0].after.lastPublishedCheckpoint).toBe(kept.note);
  await expectLogIntact(service, tenant.id);
});

test('reopened shorter than its blocks of words, all that is recorded from then on is found', async () => {
  const service = await installation();
  const tenant = await service.tenant();
  await service.record(tenant.key, 200);
  const { rows } = await service.owner.query('SELECT size, frontier FROM log_heads');
  await service.record(tenant.key, 100);
  await service.tick();
  await service.app.background.run('words');
  // The tile goes back into the tail, as far as the log is left.
  await service.owner.query(`INSERT INTO log_tail SELECT tenant_id, n, substr(data, n * 60 + 1, 60)
    FROM log_tiles, generate_series(0, 255) n; DELETE FROM log_tiles`);
  await service.cut(tenant.id, rows[0].size, rows[0].frontier);
  await service.tick();
  expect(await reopenLog(service.env)).toMatchObject([{ size: Number(rows[0].size) }]);
  const resource = { type: 'ivr', id: randomUUID(), name: 'Reopened' };
  const search = { url: '/api/audit-logs?q=reopened&resource=ivr', key: tenant.key };
  const body = eventOf({ resource });
  await service.call({ method: 'POST', url: '/api/audit-logs', key: tenant.key, body });
  expect((await service.call(search)).body.data).toHaveLength(1);
  await service.record(tenant.key, 100);
  await service.app.background.run('words');
  expect((await service.call(search)).body.data).toHaveLength(1);
  await expectLogIntact(service, tenant.id);
});

const moved: Record<string, string> = {
  'back, with the checkpoints of then': 'UPDATE log_rounds SET round = 1',
  'on, past what would contradict': 'UPDATE log_rounds SET round = 9',
};

test.each(Object.entries(moved))(
  'when the count of rounds is set %s, nothing that was published is signed otherwise',
  async (_, sql) => {
    const service = await installation();
    const tenant = await service.tenant();
    await service.record(tenant.key, 18);
    await service.tick();
    const { rows: then } = await service.owner.query('SELECT * FROM log_checkpoints');
    const frontier = await service.frontierOf(tenant.id);
    await service.record(tenant.key, 3);
    await service.tick();
    await service.cut(tenant.id, 20, frontier);
    const [{ size, root, note, round }] = then;
    await service.owner.query(
      'UPDATE log_checkpoints SET size = $1, root = $2, note = $3, round = $4',
      [size, root, note, round],
    );
    await service.owner.query(sql);
    const app = await service.process();
    const rounds = publishedRounds(service.dataDir).length;
    await service.post(tenant.key);
    await app.checkpoints.tick();
    await service.tick();
    expect(publishedRounds(service.dataDir)).toHaveLength(rounds);
  },
);

const surplus: Record<string, [size: number, sql: string]> = {
  'an entry lies behind its end, and its events move to another class': [
    20,
    `WITH moving AS (UPDATE log_heads SET other_classes = other_classes || 0::smallint
       WHERE tenant_id = $1 RETURNING tenant_id, size)
     INSERT INTO log_tail SELECT tenant_id, size, decode(repeat('00', 60), 'hex') FROM moving`,
  ],
  'a tile lies behind its end': [
    255,
    `INSERT INTO log_tiles SELECT tenant_id, 0, 0, decode(repeat('00', 32), 'hex'), decode(repeat('00', 15360), 'hex')
     FROM log_heads WHERE tenant_id = $1`,
  ],
  'an entry of its tail is gone, which the next tile needs': [
    255,
    'DELETE FROM log_tail WHERE tenant_id = $1 AND sequence = 77',
  ],
};

test.each(Object.entries(surplus))(
  'when %s recording in that log answers 503, others record, and a round stops and says so',
  async (_, [size, sql]) => {
    const service = await installation();
    const [damaged, other] = [await service.tenant(), await service.tenant()];
    await growLog(service, damaged.id, size);
    await service.tick();
    expect((await service.owner.query(sql, [damaged.id])).rowCount).toBe(1);
    const [answer, fine] = await Promise.all([service.post(damaged.key), service.post(other.key)]);
    expect({ status: answer.status, code: answer.body.code }).toEqual({
      status: 503,
      code: 'unavailable',
    });
    expect(answer.body.detail).toMatch(
      /^recording in this log is stopped, because the log is damaged/,
    );
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(fine.status).toBe(201);
    // Nothing grew in it: the round looks all the same.
    await service.tick();
    const isSurplus = sql.includes('INSERT');
    const finding = /20 entries has further entries behind its end|255 entries .* not all stored/;
    expect(await service.halted()).toMatch(finding);
    // Added rows are removed; removed rows do not come back.
    const left = isSurplus ? size : 77;
    expect(await reopenLog(service.env)).toContainEqual(
      expect.objectContaining({ tenantId: damaged.id, size: left, publishedSize: size }),
    );
    expect((await service.post(damaged.key)).status).toBe(201);
    await service.tick();
    expect((await checkpointOf(service.app, damaged.key)).size).toBe(left + 2);
    await expectTreeIntact(service, damaged.id);
  },
);

test('a tenant whose log lost its head is not taken for an unknown one, and can be reopened', async () => {
  const service = await installation();
  const tenants = [await service.tenant('Pro'), await service.tenant('Pro')];
  for (const { key } of tenants) await service.record(key, 300);
  await service.tick();
  const [first, second] = tenants;
  const origins = await Promise.all(
    tenants.map(async ({ key }) => (await checkpointOf(service.app, key)).origin),
  );
  await service.owner.query('DELETE FROM log_heads');
  // Of the second nothing but its entries says that it had a log.
  await service.owner.query('DELETE FROM log_checkpoints WHERE tenant_id = $1', [second?.id]);
  const put = (id: string | undefined, body: object) =>
    service.call({
      method: 'PUT',
      url: `/api/tenants/${id}`,
      body,
      headers: { 'x-access-reason': 'smaller' },
    });
  for (const { id, key } of tenants) {
    const answers = [
      await service.post(key),
      await put(id, { plan: 'Starter' }),
      await put(id, { name: 'x' }),
    ];
    for (const { status, body } of answers) {
      expect({ status, code: body.code }).toEqual({ status: 503, code: 'unavailable' });
    }
  }
  await service.tick();
  expect(await service.halted()).not.toBeNull();
  const reopened = await reopenLog(service.env);
  // Nothing in the database says which tenant had the second log under its published name.
  const ids = [first?.id, second?.id, null];
  expect(reopened.map(({ tenantId }) => tenantId).sort()).toEqual(ids.sort());
  for (const { id, key } of tenants) {
    expect((await service.post(key)).status).toBe(201);
    expect((await put(id, { plan: 'Enterprise' })).status).toBe(200);
    expect((await put(id, { plan: 'Starter' })).status).toBe(200);
    expect((await service.post(key)).status).toBe(201);
    await service.tick();
    const { origin, size } = await checkpointOf(service.app, key);
    expect([origins.includes(origin), size]).toEqual([false, 307]);
    await expectTreeIntact(service, id);
  }
  expect(first?.id).toBeDefined();
});
