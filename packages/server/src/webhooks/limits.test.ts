import { eraseNow } from '@indelible/testing/erasure-setup';
import { callOn, loggedProcess } from '@indelible/testing/service';
import { hookedService, idsOf } from '@indelible/testing/webhook-setup';
import { expect, test } from 'vitest';

const env = { WEBHOOK_ALLOW_PRIVATE: 'true' };
const day = 86_400_000;
const { service, tenant, hooks, deliver } = await hookedService({}, 'Starter');

test('events that the plan hides by now are not sent, nor reached by a replay; under a hold they are', async () => {
  const { receiver } = tenant;
  const { id } = await hooks.create();
  await hooks.act(id, 'pause');
  const old = await hooks.record();
  service.clock.now += 31 * day;
  const fresh = await hooks.record();
  await hooks.act(id, 'resume');
  await deliver();
  expect(idsOf(receiver.events())).toEqual([fresh.id]);
  const clipped = await hooks.act(id, 'replay', { fromSequence: 0 });
  expect(clipped.body.nextSequence).toBe(fresh.sequence);
  await deliver();
  expect(idsOf(receiver.events())).toEqual([fresh.id, fresh.id]);
  const url = `/api/tenants/${tenant.id}`;
  const held = await service.call({ method: 'PUT', url, body: { legalHold: true } });
  expect(held.status).toBe(200);
  receiver.calls.length = 0;
  expect((await hooks.act(id, 'replay', { fromSequence: 0 })).body.nextSequence).toBe(0);
  await deliver();
  expect(idsOf(receiver.events())).toEqual([old.id, fresh.id]);
});

test('a failed message whose events the plan hides by now is over, and the next has all attempts', async () => {
  tenant.receiver.answers = [{ code: 500 }];
  const { id } = await hooks.create();
  await hooks.record();
  await deliver();
  expect((await hooks.get(id)).attempt).toBe(1);
  service.clock.now += 31 * day;
  await deliver();
  expect(await hooks.get(id)).toMatchObject({ status: 'active', attempt: 0, behind: 0 });
  expect(tenant.receiver.calls).toHaveLength(1);
});

test('an event erased before an attempt is not in it any more', async () => {
  const { receiver } = tenant;
  receiver.answers = [{ code: 500 }, { code: 200 }];
  const { id } = await hooks.create();
  const diff = { phone: { from: null, to: '+34 600 000 000' } };
  const event = await hooks.record({ diff });
  await deliver();
  expect(receiver.calls[0]?.raw).toContain('+34 600');
  await eraseNow(service, { tenantId: tenant.id, eventId: event.id, segment: 'change' });
  service.clock.now = Date.parse((await hooks.get(id)).nextAttemptAt);
  await deliver();
  const [first, again] = receiver.calls;
  expect(again?.id).toBe(first?.id);
  expect(again?.raw).not.toContain('+34 600');
  expect(again?.body.data.events[0]).toMatchObject({ id: event.id, erased: ['change'] });
});

test('the newest thousand deliveries are kept, for thirty days', async () => {
  const { id } = await hooks.create();
  await hooks.record();
  await deliver();
  const copy = `INSERT INTO webhook_deliveries
    SELECT tenant_id, webhook_id, overlay(id::text placing lpad(to_hex(n), 8, '0') from 1)::uuid, message_id, type,
      status, attempt, first_sequence, last_sequence, events, at, duration_ms, response_status, response, reason,
      next_attempt_at
    FROM webhook_deliveries, generate_series(1, 1200) n WHERE tenant_id = $1`;
  await service.owner.query(copy, [tenant.id]);
  await hooks.record();
  await deliver();
  const count = async () => {
    const text = 'SELECT count(*)::int AS n FROM webhook_deliveries WHERE tenant_id = $1';
    return (await service.owner.query(text, [tenant.id])).rows[0].n;
  };
  expect(await count()).toBe(1_000);
  const [first, second] = await hooks.deliveries(id, '?limit=2');
  expect([first?.events, second?.events]).toEqual([1, 1]);
  expect(first?.firstSequence).toBeGreaterThan(second?.firstSequence ?? 0);
  service.clock.now += 30 * day;
  expect(await hooks.deliveries(id)).toEqual([]);
  expect((await hooks.get(id)).lastDelivery).toBeNull();
  await service.app.background.run('delivery-expiry');
  expect(await count()).toBe(0);
});

test('the metrics tell how webhooks are doing, without naming any', async () => {
  const { receiver } = tenant;
  receiver.answers = [{ code: 500 }];
  const failing = await hooks.create();
  const paused = await hooks.create();
  await hooks.act(paused.id, 'pause');
  await deliver();
  const { text } = await service.call({ url: '/metrics', key: null });
  const value = (name: string) => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
  expect(value('indelible_webhooks{state="failing"}')).toBeGreaterThanOrEqual(1);
  expect(value('indelible_webhooks{state="paused"}')).toBeGreaterThanOrEqual(1);
  expect(value('indelible_webhook_behind_entries')).toBeGreaterThanOrEqual(
    (await hooks.get(failing.id)).behind,
  );
  expect(value('indelible_webhook_delivery_seconds_count{outcome="failed"}')).toBeGreaterThan(0);
  const ours = text.split('\n').filter((line) => line.includes('webhook'));
  expect(ours.join()).not.toMatch(/whk_|127\.0\.0\.1/);
  expect(text).not.toContain(tenant.id);
});

test('neither secrets nor addresses nor what is sent get into the log lines', async () => {
  const { app, lines } = await loggedProcess(service, env);
  tenant.receiver.answers = [{ code: 500, text: 'a word of the receiver' }, { hangUp: true }];
  const { id } = await hooks.create({ format: 'generic', credential: 'Bearer of-theirs' });
  const url = `/api/webhooks/${id}`;
  const { secret } = (await callOn(app, { method: 'POST', url: `${url}/secret`, key: tenant.key }))
    .body;
  await hooks.record({ reason: 'a word of the event' });
  await app.webhooks.tick();
  await callOn(app, { method: 'POST', url: `${url}/test`, key: tenant.key });
  await service.owner.query(`UPDATE webhooks SET credential = '\\x00' WHERE tenant_id = $1`, [
    tenant.id,
  ]);
  await callOn(app, { method: 'POST', url: `${url}/test`, key: tenant.key });
  expect(tenant.receiver.calls).toHaveLength(2);
  expect(lines.length).toBeGreaterThan(1);
  const logged = lines.join();
  const words = [secret.slice(6), 'whsec_', 'of-theirs', 'a word of', tenant.receiver.url, '/hook'];
  for (const word of words) expect(logged).not.toContain(word);
});
