import { expectLogIntact } from '@indelible/testing/intact';
import {
  exhaust,
  outcomesIn,
  recordChange,
  restore,
  restoreOf,
  restoresIn,
  restoringService,
  restoringTenant,
} from '@indelible/testing/restore-setup';
import type { HostAnswer } from '@indelible/testing/restoring-host';
import {
  anotherProcess,
  callOn,
  loggedProcess,
  serviceOn,
  type TestService,
} from '@indelible/testing/service';
import { expect, test } from 'vitest';

const env = { WEBHOOK_ALLOW_PRIVATE: 'true' };
const { service, tenant } = await restoringService();

/** Asks another process than `service` for it. */
const restoreOn = (app: TestService['app'], eventId: string, to = 'before') => {
  const url = `/api/audit-logs/${eventId}/restore`;
  return callOn(app, { method: 'POST', url, key: tenant.key, body: { to } });
};

/** A restore that a process took and never called for: it ended right after its commit. */
async function abandonedRestore(eventId: string): Promise<string> {
  const { app } = await anotherProcess(service, env);
  await app.jobs.stop();
  const { status, body } = await restoreOn(app, eventId);
  expect([status, body.status]).toEqual([202, 'requested']);
  return body.id;
}

const statusOf = async (id: string) =>
  (await restoreOf(service, tenant.key, id)).body.status as string;

test('a crash between request and call loses nothing: the next process calls, once', async () => {
  const id = await abandonedRestore(await recordChange(service, tenant));
  expect(tenant.host.calls).toEqual([]);
  await service.app.jobs.tick('restore');
  expect(tenant.host.calls.map((call) => call.id)).toEqual([id]);
  expect(await statusOf(id)).toBe('applied');
  await exhaust(service);
  expect(tenant.host.calls).toHaveLength(1);
  expect(await outcomesIn(service, tenant)).toEqual(['requested', 'applied']);
});

test('a crash between the answer and its record: the host is called again under the same id, and there is one outcome', async () => {
  const right = 'UPDATE (status) ON restores';
  // From the host's answer on, the outcome cannot be written.
  tenant.host.before = async () => {
    await service.owner.query(`REVOKE ${right} FROM indelible_writer`);
  };
  const { body } = await restore(service, tenant.key, await recordChange(service, tenant));
  expect(body.status).toBe('requested');
  tenant.host.before = async () => {};
  await service.owner.query(`GRANT ${right} TO indelible_writer`);
  await service.app.jobs.tick('restore');
  expect(tenant.host.calls, 'not before the lease has ended').toHaveLength(1);
  service.clock.now += 30_001;
  await service.app.jobs.tick('restore');
  expect(tenant.host.calls.map(({ id, applied }) => [id, applied])).toEqual([
    [body.id, true],
    [body.id, false], // the host knows the id, and answers as before
  ]);
  expect(await statusOf(body.id)).toBe('applied');
  expect(await outcomesIn(service, tenant)).toEqual(['requested', 'applied']);
});

test('a request that cannot be recorded is not made', async () => {
  const eventId = await recordChange(service, tenant);
  const rows = async () =>
    (await service.owner.query('SELECT FROM restores WHERE tenant_id = $1', [tenant.id])).rowCount;
  await service.owner.query("UPDATE log_rounds SET halted = 'a test'");
  const refused = await restore(service, tenant.key, eventId);
  await service.owner.query('UPDATE log_rounds SET halted = NULL');
  expect([refused.status, await rows()]).toEqual([503, 0]);
  await service.app.jobs.tick('restore');
  expect(tenant.host.calls).toEqual([]);
  expect(await restoresIn(service, tenant)).toEqual([]);
});

test('while recording stands still no host is called; the outcome is written when it goes on', async () => {
  const halt = (reason: string | null) =>
    service.owner.query('UPDATE log_rounds SET halted = $1', [reason]);
  tenant.host.before = async () => void (await halt('a test'));
  const { body } = await restore(service, tenant.key, await recordChange(service, tenant));
  expect([body.status, tenant.host.calls.length]).toEqual(['requested', 1]);
  tenant.host.before = async () => {};
  for (let n = 0; n < 3; n++) {
    service.clock.now += 30_001;
    await service.app.jobs.tick('restore');
  }
  expect(tenant.host.calls).toHaveLength(1);
  await halt(null);
  await service.app.jobs.tick('restore');
  expect(tenant.host.calls.map(({ id, applied }) => [id, applied])).toEqual([
    [body.id, true],
    [body.id, false],
  ]);
  expect(await statusOf(body.id)).toBe('applied');
  expect(await outcomesIn(service, tenant)).toEqual(['requested', 'applied']);
});

test('two processes that look at once call once', async () => {
  const id = await abandonedRestore(await recordChange(service, tenant));
  const { app } = await anotherProcess(service, env);
  const ticks = [service.app, app, service.app, app].map(({ jobs }) => jobs.tick('restore'));
  await Promise.all(ticks);
  expect(tenant.host.calls).toHaveLength(1);
  expect(await statusOf(id)).toBe('applied');
});

/** An answer that is given when the test says so. */
function held() {
  const { promise, resolve } = Promise.withResolvers<HostAnswer>();
  return { answer: { held: promise } satisfies HostAnswer, give: resolve };
}

test('the first outcome of two attempts with different answers stays alone', async () => {
  const slow = held();
  tenant.host.answers = [slow.answer, { status: 'applied' }];
  const { body } = await restore(service, tenant.key, await recordChange(service, tenant));
  expect(body.status).toBe('requested');
  // Its process is so slow that the lease ends, and another one takes over.
  service.clock.now += 30_001;
  const { app } = await anotherProcess(service, env);
  await app.jobs.tick('restore');
  expect(await statusOf(body.id)).toBe('applied');
  slow.give({ status: 'refused', reason: 'too late' });
  await service.app.jobs.tick('restore');
  expect(await statusOf(body.id)).toBe('applied');
  expect(await outcomesIn(service, tenant)).toEqual(['requested', 'applied']);
});

test('a double click restores once: the second is told which one is under way', async () => {
  const slow = held();
  tenant.host.answers = [slow.answer, { status: 'applied' }];
  const eventId = await recordChange(service, tenant);
  const clicks = [1, 2, 3].map(() => restore(service, tenant.key, eventId));
  const answers = await Promise.all(clicks);
  const [taken, ...others] = answers.sort((a, b) => a.status - b.status);
  expect(answers.map(({ status }) => status)).toEqual([202, 409, 409]);
  for (const { body, headers } of others) {
    expect(body.code).toBe('conflict');
    expect(body.detail).toContain(taken?.body.id);
    expect(headers.location).toBe(`/api/audit-logs/restores/${taken?.body.id}`);
  }
  slow.give({ status: 'applied' });
  await service.app.jobs.tick('restore');
  expect(tenant.host.calls).toHaveLength(1);
  expect((await restore(service, tenant.key, eventId)).body.status).toBe('applied');
  expect(await outcomesIn(service, tenant)).toEqual([
    ...['requested', 'applied', 'requested', 'applied'],
  ]);
});

test('a host that does not answer holds up no other tenant', async () => {
  const slow = held();
  tenant.host.answers = [slow.answer];
  const other = await restoringTenant(service);
  const waiting = restore(service, tenant.key, await recordChange(service, tenant));
  await expect.poll(() => tenant.host.calls.length).toBe(1);
  const { body } = await restore(service, other.key, await recordChange(service, other));
  expect(body.status).toBe('applied');
  slow.give({ status: 'applied' });
  await waiting;
  await service.app.jobs.tick('restore');
  await expectLogIntact(service, other.id);
});

test('a service that stops cuts its calls off, and the next one takes them up', async () => {
  const slow = held();
  tenant.host.answers = [slow.answer, { status: 'applied' }];
  const { app, close } = await anotherProcess(service, env);
  const asked = restoreOn(app, await recordChange(service, tenant));
  await expect.poll(() => tenant.host.calls.length).toBe(1);
  const { body } = await asked;
  await close();
  expect(await statusOf(body.id)).toBe('requested');
  service.clock.now += 30_001;
  await service.app.jobs.tick('restore');
  expect(await statusOf(body.id)).toBe('applied');
  expect(await outcomesIn(service, tenant)).toEqual(['requested', 'applied']);
  slow.give({ status: 'applied' });
});

const put = (body: unknown) =>
  service.call({ method: 'PUT', url: `/api/tenants/${tenant.id}`, body });

test('an address that was taken back is not called any more', async () => {
  const id = await abandonedRestore(await recordChange(service, tenant));
  await put({ restoreUrl: null });
  await service.app.jobs.tick('restore');
  expect((await restoreOf(service, tenant.key, id)).body).toMatchObject({
    status: 'failed',
    reason: 'the tenant has no restore URL any more',
  });
  expect(tenant.host.calls).toEqual([]);
});

test('another address is called with its own secret, and a call signed with the former is no longer taken', async () => {
  const { host } = tenant;
  const former = host.secret;
  const eventId = await recordChange(service, tenant);
  host.secret = (await put({ restoreUrl: `${host.url}?v=2` })).body.restoreSecret;
  expect(host.secret).not.toBe(former);
  expect((await restore(service, tenant.key, eventId)).body.status).toBe('applied');
  host.secret = former;
  const { body } = await restore(service, tenant.key, eventId);
  expect([body.status, host.forged]).toEqual(['failed', 1]);
});

test('a secret that cannot be opened is a failure that says so, not an endless repetition', async () => {
  await service.owner.query(
    "UPDATE tenants SET restore_secret = decode(repeat('01', 60), 'hex') WHERE id = $1",
    [tenant.id],
  );
  const { body } = await restore(service, tenant.key, await recordChange(service, tenant));
  expect(body.status).toBe('failed');
  expect(body.reason).toContain('set it again');
});

test('private addresses are not called unless that is allowed', async () => {
  const { app, close } = await serviceOn(service.servingUrl, service.clock, {});
  const { body } = await restoreOn(app, await recordChange(service, tenant));
  expect(body).toMatchObject({ status: 'failed' });
  expect(body.reason).toContain('https');
  expect(tenant.host.calls).toEqual([]);
  await close();
});

test('neither secret nor states nor addresses get into the log lines, and no secret into events and rows', async () => {
  const { app, lines } = await loggedProcess(service, env);
  tenant.host.answers = [{ status: 'refused', reason: 'a word of the host' }, { hangUp: true }];
  const states = { before: { greeting: 'a word of the state' }, after: { greeting: 'x' } };
  const eventId = await recordChange(service, tenant, states);
  for (const to of ['before', 'after']) await restoreOn(app, eventId, to);
  expect(tenant.host.calls).toHaveLength(2);
  expect(lines.length).toBeGreaterThan(1);
  const secret = tenant.host.secret.slice('whsec_'.length);
  const logged = lines.join();
  for (const word of [secret, 'a word of', tenant.host.url, 'whsec_', 'ana@example.com']) {
    expect(logged).not.toContain(word);
  }
  await exhaust(service, app);
  const dump = await service.owner.query(
    `SELECT row_to_json(e)::text AS row FROM audit_events e WHERE tenant_id = $1
     UNION ALL SELECT row_to_json(r)::text FROM restores r WHERE tenant_id = $1`,
    [tenant.id],
  );
  const stored = dump.rows.map(({ row }) => row).join();
  expect(stored).toContain('a word of the host');
  expect(stored).not.toContain(secret);
  // With its outcome a restore forgets the states: they stay where retention finds them.
  const kept =
    'SELECT count(body)::int AS bodies, count(*)::int AS rows FROM restores WHERE tenant_id = $1';
  expect((await service.owner.query(kept, [tenant.id])).rows).toEqual([{ bodies: 0, rows: 2 }]);
});
