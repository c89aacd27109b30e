import { alertCalls } from '@indelible/testing/alert-setup';
import { envOf } from '@indelible/testing/archived';
import { checkpointOf } from '@indelible/testing/checkpoints';
import { growLog } from '@indelible/testing/grow-log';
import { keyOf } from '@indelible/testing/restore-setup';
import { eventOf, platformKey, testService } from '@indelible/testing/service';
import { hookedTenant, webhookCalls } from '@indelible/testing/webhook-setup';
import { expect, test } from 'vitest';
import { readersBehind } from '../operations/doctor.store.ts';
import { diagnose } from '../operations/doctor.ts';
import { reopenLog } from '../operations/reopen.command.ts';

/*
 * What the tables of a log do not hold, or hold wrongly,
 * is neither a fault of the call nor of the code.
 */

const service = await testService({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const { call, owner, app } = service;

/** A tenant with a log of this size that is published, and its first recorded event. */
async function published(size: number) {
  const tenant = await service.tenant();
  const { key, id } = tenant;
  const { body } = await call({ method: 'POST', url: '/api/audit-logs', key, body: eventOf() });
  await growLog(service, id, size);
  await app.checkpoints.tick();
  const { origin } = await checkpointOf(app, key);
  return { ...tenant, eventId: body.id as string, path: `/l/${origin.slice(-32)}` };
}

async function expectDamaged(url: string, key: string): Promise<void> {
  const { status, body, headers } = await call({ url, key });
  expect({ status, code: body.code }, url).toEqual({ status: 503, code: 'log_damaged' });
  expect(body.detail, url).toMatch(
    /^the log is damaged, and this part cannot be read: tell the operator/,
  );
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
}

test('a tile that is gone is damage wherever it is needed; beyond the log there is none', async () => {
  const { id, key, eventId, path } = await published(700);
  await owner.query('DELETE FROM log_tiles WHERE tenant_id = $1 AND index = 0', [id]);
  await expectDamaged(`/api/audit-logs/${eventId}/proof`, key);
  await expectDamaged('/api/audit-logs/consistency?first=5&second=700', key);
  await expectDamaged(`${path}/tile/entries/000`, key);
  await expectDamaged(`${path}/tile/0/000`, key);
  await expectDamaged(`${path}/tile/1/000.p/2`, key);
  for (const beyond of ['tile/0/003', 'tile/0/002.p/200', 'tile/1/000.p/3', 'tile/2/000']) {
    expect((await call({ url: `${path}/${beyond}`, key })).status, beyond).toBe(404);
  }
  expect((await call({ url: `${path}/tile/0/001`, key })).status).toBe(200);
});

test('an event that stands at no place of the log cannot be proven', async () => {
  const { id, key, eventId } = await published(10);
  await owner.query('UPDATE audit_events SET sequence = -1 WHERE tenant_id = $1', [id]);
  await expectDamaged(`/api/audit-logs/${eventId}/proof`, key);
});

test.each([
  ['x', () => 'x'],
  ['one of another size', (note: string) => note.replace('\n10\n', '\n9\n')],
  ['one of another log', (note: string) => note.replaceAll(/\/l\/../g, '/l/ff')],
  ['another root', (note: string) => note.replace(/\n.{44}\n/, `\n${'A'.repeat(43)}=\n`)],
])('a checkpoint that is %s in the database is not shown', async (_, change) => {
  const { id, key, eventId, path } = await published(10);
  const { note } = await checkpointOf(app, key);
  await owner.query('UPDATE log_checkpoints SET note = $2 WHERE tenant_id = $1', [
    id,
    change(note),
  ]);
  for (const url of ['/api/audit-logs/checkpoint', `${path}/checkpoint`]) {
    await expectDamaged(url, key);
  }
  await expectDamaged(`/api/audit-logs/${eventId}/proof`, key);
  await owner.query('UPDATE log_checkpoints SET note = $2 WHERE tenant_id = $1', [id, note]);
  expect((await checkpointOf(app, key)).note).toBe(note);
});

test('in a log of over 65,536 entries, a changed tile of hashes is found when the log grows', async () => {
  const { id, key } = await published(65_536 + 300);
  const { size } = await checkpointOf(app, key);
  await owner.query(
    `UPDATE log_tiles SET hash = set_byte(hash, 3, 255 - get_byte(hash, 3))
     WHERE tenant_id = $1 AND level = 1 AND index = 0`,
    [id],
  );
  const post = { method: 'POST', url: '/api/audit-logs', key, body: eventOf() } as const;
  expect((await call(post)).status).toBe(201);
  await app.checkpoints.tick();
  const { rows } = await owner.query('SELECT halted FROM log_rounds');
  expect(rows[0].halted).toMatch(/does not continue the 65836 entries/);
  // From the entries themselves all of it is made again.
  const reopened = await reopenLog(envOf(service));
  expect(reopened.find(({ tenantId }) => tenantId === id)).toMatchObject({ size: size + 1 });
  await app.checkpoints.tick();
  expect((await checkpointOf(app, key)).size).toBe(size + 2);
});

async function doctorsLogs() {
  const { servingUrl: DATABASE_URL, dataDir: DATA_DIR } = service;
  const findings = await diagnose({ DATABASE_URL, DATA_DIR, PLATFORM_API_KEY: platformKey });
  return findings.find(({ check }) => check === 'logs');
}

test('doctor finds a log whose words wait at their first block', async () => {
  const { id } = await published(300);
  await owner.query('DELETE FROM log_tiles WHERE tenant_id = $1', [id]);
  const detail = expect.stringContaining(`tenant ${id}`);
  expect(await doctorsLogs()).toMatchObject({ level: 'fail', detail });
});

test('doctor reads no log of which only the last block of words is not full', async () => {
  const { id } = await published(300);
  await app.background.run('words');
  const behind = await readersBehind(service.db.writer);
  expect(behind.map(({ tenantId }) => tenantId)).not.toContain(id);
});

const damages = {
  'is gone': 'DELETE FROM log_tail WHERE tenant_id = $1 AND sequence = $2',
  'is none': `UPDATE log_tail SET entry = set_byte(entry, 0, 9) WHERE tenant_id = $1 AND sequence = $2`,
};

test.each(Object.entries(damages))(
  'no reader passes over an entry that %s: not lists, webhooks, alerts, nor words',
  async (_, sql) => {
    const hooked = await hookedTenant(service);
    const { id, key } = hooked;
    await growLog(service, id, 600);
    const hooks = webhookCalls(service, hooked);
    const webhook = await hooks.create();
    await alertCalls(service, { id, key: await keyOf(service, id, ['alerts:write']) }).create();
    const { sequence } = await hooks.record();
    await hooks.record({ action: 'publish' });
    const { behind } = await hooks.get(webhook.id);
    for (const table of ['log_tiles', 'log_tail'])
      await owner.query(`CREATE TEMP TABLE copy_of_${table} AS SELECT * FROM ${table}`);
    await owner.query('DELETE FROM log_tiles WHERE tenant_id = $1 AND index = 1', [id]);
    await owner.query(sql, [id, sequence]);
    await app.webhooks.tick();
    await app.alerts.tick();
    await app.background.run('words');
    expect(await hooks.get(webhook.id)).toMatchObject({ behind });
    const positions = 'SELECT next_sequence::int AS next FROM alert_cursors WHERE tenant_id = $1';
    expect((await owner.query(positions, [id])).rows).toEqual([{ next: sequence }]);
    expect((await owner.query('SELECT FROM word_blocks WHERE tenant_id = $1', [id])).rows).toEqual(
      [],
    );
    expect(await doctorsLogs()).toMatchObject({
      level: 'fail',
      detail: expect.stringMatching(
        new RegExp(`wait at a damaged entry.*tenant ${id}: docs/incidents`),
      ),
    });
    for (const query of ['sort=sequence', 'q=north', 'sort=sequence&q=north'])
      await expectDamaged(`/api/audit-logs?${query}`, key);
    // With its rows back, all of them go on where they waited.
    for (const table of ['log_tiles', 'log_tail']) {
      await owner.query(`DELETE FROM ${table} WHERE tenant_id = $1`, [id]);
      await owner.query(
        `INSERT INTO ${table} SELECT * FROM copy_of_${table} WHERE tenant_id = $1`,
        [id],
      );
      await owner.query(`DROP TABLE copy_of_${table}`);
    }
    service.clock.now += 31_000; // the leases of the failed attempts end
    await app.webhooks.tick();
    await app.alerts.tick();
    await app.background.run('words');
    const received = hooked.receiver.events().map((event) => event.sequence);
    expect(received).toEqual(expect.arrayContaining([sequence, sequence + 1]));
    expect((await owner.query(positions, [id])).rows).not.toEqual([{ next: sequence }]);
    expect((await call({ url: '/api/audit-logs?q=north', key })).status).toBe(200);
  },
);
