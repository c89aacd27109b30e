import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { typeId } from '@indelible/protocol';
import { RunningService } from '@indelible/testing/running-service';
import { anotherProcess, platformKey, sessionSecret } from '@indelible/testing/service';
import { type ReceiverAnswer, webhookReceiver } from '@indelible/testing/webhook-receiver';
import { hookedService, hookedTenant, idsOf, webhookCalls } from '@indelible/testing/webhook-setup';
import { expect, onTestFinished, test } from 'vitest';
import { beginAnew } from '../log/reopen.store.ts';
import { readTenant, withOwnerSession } from '../postgres/db.ts';
import { leaseMs } from './deliver.job.ts';
import { claimWebhook, getLeased, moveTo, releaseWebhook } from './lease.store.ts';
import { messageIdPrefix, noMessage } from './store.ts';

const env = { WEBHOOK_ALLOW_PRIVATE: 'true' };
/** The machine may be busy with other things. */
const patiently = { timeout: 20_000 };
const { service, tenant, hooks, deliver } = await hookedService();
const messageIds = () => tenant.receiver.calls.map(({ id }) => id);

/** An answer that is given when it is let go. */
function holdAnswers() {
  const held = Promise.withResolvers<ReceiverAnswer>();
  tenant.receiver.answers = [{ held: held.promise }, { code: 204 }];
  return held;
}

test('a process killed between call and record: another one takes over when its lease ends, under the same id', async () => {
  holdAnswers();
  const killed = new RunningService({
    ...env,
    PLATFORM_API_KEY: platformKey,
    SESSION_SECRET: sessionSecret,
    DATABASE_URL: service.servingUrl,
    DATA_DIR: service.dataDir,
    OBJECT_STORE_URL: pathToFileURL(join(service.dataDir, 'objects')).href,
  });
  onTestFinished(async () => void (await killed.end('SIGKILL')));
  await killed.started();
  const { id } = await hooks.create();
  const ids = await hooks.recordMany(3);
  await expect.poll(() => tenant.receiver.calls.length, patiently).toBe(1);
  await killed.end('SIGKILL');
  service.clock.now = Date.now();
  await deliver();
  expect(messageIds(), 'not before the lease has ended').toHaveLength(1);
  // More has come meanwhile; the message is the one that was written down.
  ids.push(...(await hooks.recordMany(2)));
  service.clock.now = Date.now() + leaseMs;
  await deliver();
  const [first, again, ...others] = tenant.receiver.calls;
  expect([again?.id, again?.raw]).toEqual([first?.id, first?.raw]);
  expect(others.length).toBeGreaterThan(0);
  expect(idsOf(tenant.receiver.events().slice(first?.body.data.events.length))).toEqual(ids);
  expect(await hooks.get(id)).toMatchObject({ behind: 0, attempt: 0 });
  const attempts = (await hooks.deliveries(id)).map(({ attempt }) => attempt);
  expect(attempts).toEqual([1, ...others.map(() => 1)]);
});

/** A webhook whose first call has arrived; `ticking` waits for its end. */
async function callUnderWay(
  tick = deliver,
  { calls, url }: Pick<typeof tenant.receiver, 'calls' | 'url'> = tenant.receiver,
) {
  calls.length = 0;
  const { id } = await hooks.create({ url });
  const event = await hooks.record();
  const ticking = tick();
  await expect.poll(() => calls.length, patiently).toBe(1);
  return { id, event, ticking };
}

test.each([
  ['written down', 'UPDATE (message_id) ON webhooks', 0],
  ['recorded', 'INSERT ON webhook_deliveries', 1],
])(
  'while a message cannot be %s, it is not done with, and nothing is lost',
  async (_, right, calls) => {
    const { id } = await hooks.create();
    const ids = await hooks.recordMany(2);
    await service.owner.query(`REVOKE ${right} FROM indelible_writer`);
    await deliver();
    await service.owner.query(`GRANT ${right} TO indelible_writer`);
    expect(tenant.receiver.calls).toHaveLength(calls);
    expect(await hooks.deliveries(id)).toEqual([]);
    expect(await hooks.log('send')).toEqual([]);
    await deliver();
    expect(tenant.receiver.calls, 'not before the lease has ended').toHaveLength(calls);
    service.clock.now += leaseMs;
    await deliver();
    expect(new Set(messageIds()).size).toBe(1);
    expect(tenant.receiver.calls).toHaveLength(calls + 1);
    expect(idsOf(tenant.receiver.calls.at(-1)?.body.data.events)).toEqual(ids);
    expect((await hooks.get(id)).behind).toBe(0);
  },
);

test('a process that is stopped cuts its calls off, and another one sends the message at once', async () => {
  holdAnswers();
  const other = await anotherProcess(service, env);
  const { ticking } = await callUnderWay(() => other.app.webhooks.tick());
  await other.close();
  await ticking;
  await deliver();
  const [first, again] = messageIds();
  expect([messageIds().length, again]).toEqual([2, first]);
});

test('two processes never call one receiver at the same time, and repeat nothing', async () => {
  const { receiver } = tenant;
  let open = 0;
  let most = 0;
  receiver.before = async () => {
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setImmediate(resolve));
    open -= 1;
  };
  const { app } = await anotherProcess(service, env);
  await hooks.create();
  const ids: string[] = [];
  for (let round = 0; round < 4; round++) {
    ids.push(...(await hooks.recordMany(150)));
    await Promise.all([service.app, app, app, service.app].map(({ webhooks }) => webhooks.tick()));
  }
  expect(most).toBe(1);
  expect(idsOf(receiver.events())).toEqual(ids);
  expect(new Set(messageIds()).size).toBe(receiver.calls.length);
});

test('the first outcome of two processes, one of which was taken for dead, moves the position once', async () => {
  const held = holdAnswers();
  const { app } = await anotherProcess(service, env);
  const { id, ticking: late } = await callUnderWay(() => app.webhooks.tick());
  service.clock.now += leaseMs;
  await deliver();
  const settled = await hooks.get(id);
  expect([messageIds()[0] === messageIds()[1], settled.behind]).toEqual([true, 0]);
  held.resolve({ code: 500 });
  await late;
  // Told all the same, in its place: it was an attempt, and began first.
  expect(await hooks.deliveries(id)).toMatchObject([{ status: 'delivered' }, { status: 'failed' }]);
  expect(await hooks.get(id)).toMatchObject({ status: 'active', attempt: 0 });
  await deliver();
  expect(tenant.receiver.calls).toHaveLength(2);
});

test('a process that has lost its lease writes down no message, and passes over nothing', async () => {
  await hooks.create();
  await hooks.record();
  const { background } = service.db;
  const [first, second] = [randomUUID(), randomUUID()];
  const claim = async (lease: string, nowMs: number) => {
    const leased = await claimWebhook(background, lease, [], nowMs, nowMs + leaseMs);
    if (leased === null) throw new Error('nothing to claim');
    return leased;
  };
  const { now } = service.clock;
  const lost = await claim(first, now);
  const webhook = await readTenant(service.db, tenant.id, (tx) => getLeased(tx, lost));
  if (webhook === null) throw new Error('not leased');
  const leased = await claim(second, now + leaseMs);
  const message = {
    messageId: first,
    messageAtMs: now,
    messageType: 'audit.events.recorded',
  } as const;
  const { nextSequence } = webhook;
  const write = (by: typeof leased) => {
    const place = { ...message, nextSequence, messageEnd: nextSequence + 1 };
    return moveTo(background, by, webhook, place, now);
  };
  const pass = (by: typeof leased) =>
    moveTo(background, by, webhook, { ...noMessage, nextSequence }, now);
  await releaseWebhook(background, lost);
  expect([await write(lost), await pass(lost)]).toEqual([false, false]);
  expect([await write(leased), await pass(leased)]).toEqual([true, true]);
});

test('a change of a webhook during a call holds: paused, replayed, removed', async () => {
  const during = async (act: (id: string) => Promise<unknown>) => {
    const held = holdAnswers();
    const { id, event, ticking } = await callUnderWay();
    await act(id);
    held.resolve({ code: 204 });
    await ticking;
    return { id, sequence: event.sequence };
  };
  const paused = await during((id) => hooks.act(id, 'pause'));
  const { status, nextSequence } = await hooks.get(paused.id);
  expect([status, nextSequence]).toEqual(['paused', paused.sequence + 1]);
  await hooks.remove(paused.id);

  const replayed = await during((id) => hooks.act(id, 'replay', { fromSequence: 0 }));
  const again = tenant.receiver.calls.slice(1).flatMap(({ body }) => body.data.events);
  expect(again[0].sequence).toBe(0);
  await hooks.remove(replayed.id);

  const before = (await hooks.log('send')).length;
  const removed = await during((id) => hooks.remove(id));
  expect((await hooks.list()).body.data).toEqual([]);
  const sent = await hooks.log('send');
  expect(sent.length).toBe(before + 1);
  expect(sent.at(-1).after.lastSequence).toBe(removed.sequence);
});

test.each([204, 410])(
  'an answer of the former address (%d) settles nothing for the new one',
  async (code) => {
    const former = await webhookReceiver();
    const held = Promise.withResolvers<ReceiverAnswer>();
    former.answers = [{ held: held.promise }];
    const { id, event, ticking } = await callUnderWay(deliver, former);
    await hooks.patch(id, { url: tenant.receiver.url });
    held.resolve({ code });
    await ticking;
    await deliver();
    const [call] = tenant.receiver.calls;
    expect([call?.id, call?.body.data.events[0].id]).toEqual([former.calls[0]?.id, event.id]);
    expect(await hooks.get(id)).toMatchObject({ status: 'active', attempt: 0, behind: 0 });
    // What became of the other call is told all the same.
    const statuses = (await hooks.deliveries(id)).map(({ responseStatus }) => responseStatus);
    expect(statuses).toContain(code);
    await former.close();
  },
);

test('a webhook that is renamed while a call is under way gets nothing twice for it', async () => {
  const held = holdAnswers();
  const { id, event, ticking } = await callUnderWay();
  await hooks.patch(id, { name: 'Renamed' });
  held.resolve({ code: 204 });
  await ticking;
  await deliver();
  const ids = tenant.receiver.events().map((each) => each.id);
  expect(ids.filter((each) => each === event.id)).toHaveLength(1);
});

test('while recording is stopped nothing is sent, because no attempt could be recorded', async () => {
  const { id } = await hooks.create();
  await hooks.record();
  await service.owner.query("UPDATE log_rounds SET halted = 'a test'");
  await deliver();
  expect((await hooks.act(id, 'test')).status).toBe(503);
  expect(tenant.receiver.calls).toEqual([]);
  await service.owner.query('UPDATE log_rounds SET halted = NULL');
  await deliver();
  expect(tenant.receiver.calls).toHaveLength(1);
  expect((await hooks.get(id)).behind).toBe(0);
});

test('a log that goes on shorter after a reopening is delivered from its new end on', async () => {
  const { id } = await hooks.create();
  await hooks.record();
  await deliver();
  // As before `indelible log reopen`: entries that were delivered are not in the log any more.
  const ahead = `UPDATE webhooks SET next_sequence = next_sequence + 50, announced_sequence = 50
    WHERE tenant_id = $1`;
  await service.owner.query(ahead, [tenant.id]);
  await withOwnerSession(service.ownerUrl, (owner) =>
    owner.transaction((tx) => beginAnew(tx, tenant.id)),
  );
  expect((await hooks.get(id)).behind).toBe(0);
  const event = await hooks.record();
  await deliver();
  expect(tenant.receiver.calls.at(-1)?.body.data.events[0].id).toBe(event.id);
});

test('a message that reaches over the end of a reopened log begins again: other events come there', async () => {
  await hooks.create();
  const event = await hooks.record();
  const stored = `UPDATE webhooks SET message_id = id, message_type = 'audit.events.recorded',
      message_at = now(), message_end = next_sequence + 9
    WHERE tenant_id = $1 RETURNING message_id`;
  const { rows } = await service.owner.query(stored, [tenant.id]);
  await withOwnerSession(service.ownerUrl, (owner) =>
    owner.transaction((tx) => beginAnew(tx, tenant.id)),
  );
  await deliver();
  const [call] = tenant.receiver.calls;
  expect(call?.id).not.toBe(typeId(messageIdPrefix, rows[0].message_id));
  expect(call?.body.data.events[0].id).toBe(event.id);
});

test('a receiver that does not answer takes at most four slots, all of its own tenant', async () => {
  const held = holdAnswers();
  tenant.receiver.answers = [{ held: held.promise }];
  for (let at = 0; at < 6; at++) await hooks.create();
  await hooks.record();
  const other = await hookedTenant(service);
  const others = webhookCalls(service, other);
  await others.create();
  const event = await others.record();
  const ticking = deliver();
  await expect.poll(() => tenant.receiver.calls.length, patiently).toBe(4);
  await expect.poll(() => other.receiver.calls.length, patiently).toBe(1);
  expect(other.receiver.events()[0].id).toBe(event.id);
  expect(tenant.receiver.calls).toHaveLength(4);
  held.resolve({ code: 204 });
  await ticking;
  const first = tenant.receiver.calls.filter(({ body }) => body.data.events.length > 0);
  expect(new Set(first.map((call) => call.id)).size).toBeGreaterThanOrEqual(6);
  await other.receiver.close();
});

test('a working process delivers within a second of recording, without being asked', async () => {
  const { app } = await anotherProcess(service, env);
  app.webhooks.start();
  onTestFinished(() => app.webhooks.pause());
  await hooks.create();
  service.clock.now += 10;
  await hooks.record();
  await expect.poll(() => tenant.receiver.calls.length, patiently).toBe(1);
});
