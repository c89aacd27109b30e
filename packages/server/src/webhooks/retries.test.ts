import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { retryPausesMs } from '@indelible/protocol';
import type { ReceiverAnswer } from '@indelible/testing/webhook-receiver';
import { hookedService, idsOf } from '@indelible/testing/webhook-setup';
import PostalMime from 'postal-mime';
import { expect, test } from 'vitest';

const { service, tenant, hooks, deliver } = await hookedService();

/** Moves the clock to the next attempt and makes it. */
async function retry(id: string): Promise<void> {
  service.clock.now = Date.parse((await hooks.get(id)).nextAttemptAt);
  await deliver();
}

test('a message that does not get through is the same at each attempt: after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h', async () => {
  const { receiver } = tenant;
  receiver.answers = [{ code: 503, text: 'later' }];
  const { id } = await hooks.create();
  const event = await hooks.record();
  await deliver();
  // What follows waits behind it.
  const later = await hooks.record();
  for (const [at, pause] of retryPausesMs.entries()) {
    const { status, attempt, nextAttemptAt, behind } = await hooks.get(id);
    expect([status, attempt]).toEqual(['active', at + 1]);
    expect(behind).toBeGreaterThan(0);
    const wait = Date.parse(nextAttemptAt) - service.clock.now;
    expect(wait).toBeGreaterThanOrEqual(0.9 * pause);
    expect(wait).toBeLessThanOrEqual(1.1 * pause);
    service.clock.now += wait - 1;
    await deliver();
    expect(receiver.calls, 'not before its time').toHaveLength(at + 1);
    await retry(id);
  }
  const { calls } = receiver;
  expect(calls).toHaveLength(8);
  expect(new Set(calls.map((call) => call.id)).size).toBe(1);
  expect(new Set(calls.map((call) => call.raw)).size).toBe(1);
  expect(new Set(calls.map((call) => call.headers['webhook-timestamp'])).size).toBe(8);
  const failing = await hooks.get(id);
  expect(failing).toMatchObject({
    status: 'paused',
    pausedBecause: 'failing',
    attempt: 8,
    nextAttemptAt: null,
    lastDelivery: { attempt: 8, responseStatus: 503, response: 'later', nextAttemptAt: null },
  });
  const attempts = (await hooks.deliveries(id)).map((each) => each.attempt);
  expect(attempts).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
  const sent = await hooks.log('send');
  expect(sent.map(({ after }) => [after.attempt, after.outcome, after.status])).toEqual(
    Array.from({ length: 8 }, (_, at) => [at + 1, 'failed', 503]),
  );
  const [paused] = await hooks.log('pause');
  expect(paused).toMatchObject({
    actor: { role: 'system' },
    after: { status: 'paused', pausedBecause: 'failing', failure: 'the receiver answered 503' },
  });
  service.clock.now += 86_400_000;
  await deliver();
  expect(calls, 'paused is paused').toHaveLength(8);
  // It goes on with this very message, with all attempts before it, and skips nothing.
  receiver.answers = [...Array(8).fill({ code: 503 }), { code: 500 }, { code: 200 }];
  expect((await hooks.act(id, 'resume')).body).toMatchObject({ status: 'active', attempt: 0 });
  await deliver();
  expect([calls.at(-1)?.id, (await hooks.get(id)).attempt]).toEqual([calls[0]?.id, 1]);
  await retry(id);
  expect(calls.slice(0, 10).map((call) => call.id)).toEqual(Array(10).fill(calls[0]?.id));
  const arrived = receiver.calls.slice(9).flatMap(({ body }) => body.data.events);
  expect(idsOf(arrived)).toEqual([event.id, later.id]);
});

test('a receiver that asks for time is not called before, in seconds or by a date', async () => {
  const { receiver } = tenant;
  const until = new Date(service.clock.now + 3_600_000).toUTCString();
  receiver.answers = [
    { code: 429, headers: { 'retry-after': '120' } },
    { code: 503, headers: { 'retry-after': until } },
    { code: 200 },
  ];
  const { id } = await hooks.create({ format: 'generic' });
  await hooks.record();
  await deliver();
  service.clock.now += 119_999;
  await deliver();
  expect(receiver.calls).toHaveLength(1);
  await retry(id);
  expect(receiver.calls).toHaveLength(2);
  expect(Date.parse((await hooks.get(id)).nextAttemptAt)).toBeGreaterThanOrEqual(Date.parse(until));
  await retry(id);
  expect(await hooks.get(id)).toMatchObject({ attempt: 0, behind: 0 });
});

test('410 pauses at once; what the receiver says of an event does not get into the log, where no erasure would find it', async () => {
  tenant.receiver.answers = [{ code: 410, text: 'cannot store the value Ana Duarte' }];
  const { id } = await hooks.create({ format: 'generic' });
  await hooks.record();
  await deliver();
  const { status, pausedBecause, lastDelivery } = await hooks.get(id);
  expect([status, pausedBecause]).toEqual(['paused', 'failing']);
  expect(lastDelivery.reason).toContain('Ana Duarte');
  const [paused] = await hooks.log('pause');
  expect(paused.after.failure).toBe('the receiver answered 410');
  expect(JSON.stringify(await hooks.log('send'))).not.toContain('Ana Duarte');
});

test.each<[string, ReceiverAnswer, string]>([
  ['a redirect', { code: 307, headers: { location: '/other' } }, 'redirects are not followed'],
  ['404', { code: 404 }, 'answered 404'],
  ['a broken connection', { hangUp: true }, 'the connection was broken'],
])('%s is a failed attempt like any other', async (_, answer, reason) => {
  tenant.receiver.answers = [answer, { code: 200 }];
  const { id } = await hooks.create();
  await hooks.record();
  await deliver();
  const { lastDelivery, attempt } = await hooks.get(id);
  expect([attempt, lastDelivery.status]).toEqual([1, 'failed']);
  expect(lastDelivery.reason).toContain(reason);
  await retry(id);
  expect(await hooks.get(id)).toMatchObject({ attempt: 0, behind: 0 });
});

test('after a corrected address there is no wait, and the message stays the same', async () => {
  const { id } = await hooks.create({ url: 'http://127.0.0.1:1/' });
  await hooks.record();
  await deliver();
  const [failed] = await hooks.deliveries(id);
  expect(failed).toMatchObject({ reason: 'the connection was refused', responseStatus: null });
  await hooks.patch(id, { url: tenant.receiver.url });
  await deliver();
  expect(tenant.receiver.calls[0]?.id).toBe(failed?.messageId);
});

test('another name changes nothing about when a failed message is tried again', async () => {
  tenant.receiver.answers = [{ code: 500 }];
  const { id } = await hooks.create();
  await hooks.record();
  await deliver();
  const { attempt, nextAttemptAt } = await hooks.get(id);
  expect(attempt).toBe(1);
  const { body } = await hooks.patch(id, { name: 'Renamed' });
  expect(body).toMatchObject({ name: 'Renamed', attempt, nextAttemptAt });
});

test('with other filters a message that failed is made anew, under another id', async () => {
  const { receiver } = tenant;
  receiver.answers = [{ code: 500 }, { code: 200 }];
  const { id } = await hooks.create();
  await hooks.record();
  await hooks.record({ action: 'login' });
  await deliver();
  await hooks.patch(id, { filters: { action: ['login'] } });
  await deliver();
  const [first, second] = receiver.calls;
  expect(first?.body.data.events).toHaveLength(2);
  expect(second?.body.data.events).toMatchObject([{ action: 'login' }]);
  expect(second?.id).not.toBe(first?.id);
});

test('a secret that cannot be opened any more fails attempts, and a new one mends it', async () => {
  const { id } = await hooks.create();
  await service.owner.query(`UPDATE webhooks SET secret = '\\x00' WHERE tenant_id = $1`, [
    tenant.id,
  ]);
  await hooks.record();
  await deliver();
  const { lastDelivery } = await hooks.get(id);
  expect(lastDelivery.reason).toContain('cannot be decrypted');
  expect(tenant.receiver.calls).toEqual([]);
  expect((await hooks.act(id, 'test')).body).toMatchObject({ ok: false, status: null });
  await hooks.act(id, 'secret');
  await hooks.act(id, 'resume');
  await deliver();
  expect((await hooks.get(id)).attempt).toBe(0);
});

/** The complete ones: a draft has another name. */
const mails = () => {
  const outbox = join(service.dataDir, 'outbox');
  const names = readdirSync(outbox).filter((name) => name.endsWith('.eml'));
  return names.map((name) => readFileSync(join(outbox, name)));
};

test('the recipients of the tenant are told in its language; mail that waits delays no other', async () => {
  const { receiver } = tenant;
  const settings = { locale: 'es', timeZone: 'Europe/Madrid', notifyEmails: ['ana@example.com'] };
  const url = `/api/tenants/${tenant.id}`;
  await service.call({ method: 'PUT', url, body: { name: 'Telefónica <b>', ...settings } });
  receiver.answers = [{ code: 410 }, { code: 200 }];
  const gone = await hooks.create({ url: `${receiver.url}?token=only-theirs`, name: 'Colector' });
  await hooks.record({ resource: { type: 'ivr', id: tenant.id, name: 'a word of the event' } });
  await deliver();
  // A test that a person makes meanwhile is not why it was paused.
  expect((await hooks.act(gone.id, 'test')).body.ok).toBe(true);
  // No worker sends mail yet, and deliveries go on.
  const fine = await hooks.create();
  await hooks.record();
  await deliver();
  expect(await hooks.get(fine.id)).toMatchObject({ behind: 0, status: 'active' });
  service.app.jobs.start();
  await expect.poll(() => mails().length, { timeout: 20_000 }).toBe(1);
  const mail = await PostalMime.parse(mails()[0] ?? '');
  expect(mail.to?.map(({ address }) => address)).toEqual(['ana@example.com']);
  expect(mail.subject).toBe('Un webhook del registro de auditoría está en pausa');
  for (const text of [mail.text ?? '', mail.html ?? '']) {
    expect(text).toContain('410');
    expect(text).toContain('Colector');
    expect(text).toContain(`/settings/audit/webhooks/${gone.id}`);
    expect(text).not.toMatch(/only-theirs|whsec_|a word of the event/);
  }
  expect(mail.html).toContain('Telefónica &#60;b&#62;');
});
