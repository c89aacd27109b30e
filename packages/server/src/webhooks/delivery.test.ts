import { expectMessageAsDocumented } from '@indelible/testing/documented';
import { recordAll } from '@indelible/testing/event-pool';
import { askForJob, exportsUrl, exportUntil, hasEnded } from '@indelible/testing/exports';
import { growLog } from '@indelible/testing/grow-log';
import { eventOf } from '@indelible/testing/service';
import { signedBy } from '@indelible/testing/webhook-receiver';
import { hookedService, hookedTenant, webhookCalls } from '@indelible/testing/webhook-setup';
import { expect, test } from 'vitest';

const { service, tenant, hooks, deliver } = await hookedService();

test('a recorded event arrives, signed and as the list shows it, and the attempt is in log and deliveries', async () => {
  const { receiver } = tenant;
  const webhook = await hooks.create({ name: 'SIEM' });
  const event = await hooks.record();
  await deliver();
  expect(receiver.calls).toHaveLength(1);
  const [call] = receiver.calls;
  if (!call) throw new Error('nothing arrived');
  expect(signedBy(webhook.secret, call)).toBe(true);
  const listed = await service.call({ url: '/api/audit-logs?action=update', key: tenant.key });
  expect(call.body).toEqual({
    type: 'audit.events.recorded',
    timestamp: new Date(service.clock.now).toISOString(),
    data: { tenantId: tenant.id, events: [listed.body.data.at(-1)] },
  });
  expectMessageAsDocumented(service.app.http, call.body);
  const [delivery, ...more] = await hooks.deliveries(webhook.id);
  expect(more).toEqual([]);
  expect(delivery).toMatchObject({
    messageId: call.id,
    type: 'audit.events.recorded',
    status: 'delivered',
    attempt: 1,
    firstSequence: event.sequence,
    lastSequence: event.sequence,
    events: 1,
    responseStatus: 204,
    response: null,
    reason: null,
    nextAttemptAt: null,
  });
  const [sent, ...others] = await hooks.log('send');
  expect(others).toEqual([]);
  expect(sent).toMatchObject({
    category: 'integration',
    recordedBy: { kind: 'service' },
    resource: { type: 'webhook', name: 'SIEM' },
    after: {
      messageId: call.id,
      type: 'audit.events.recorded',
      events: 1,
      attempt: 1,
      firstSequence: event.sequence,
      lastSequence: event.sequence,
      outcome: 'delivered',
      status: 204,
    },
  });
  expect(await hooks.get(webhook.id)).toMatchObject({
    behind: 0,
    attempt: 0,
    lastDelivery: delivery,
  });
});

const sequencesIn = (call: { body: { data: { events: { sequence: number }[] } } }) =>
  call.body.data.events.map(({ sequence }) => sequence);
const idsIn = (events: readonly { id: string }[]) => events.map(({ id }) => id);

test('a backlog arrives whole, in the order of the log, a hundred at a time', async () => {
  const { receiver } = tenant;
  await hooks.create();
  const ids = await hooks.recordMany(250);
  await deliver();
  expect(receiver.calls.map((call) => sequencesIn(call).length)).toEqual([100, 100, 50]);
  expect(idsIn(receiver.events())).toEqual(ids);
  const sequences = receiver.calls.flatMap(sequencesIn);
  expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
  expect(new Set(receiver.calls.map(({ id }) => id)).size).toBe(3);
});

test('a message is no larger than 4 MiB, and no event is left out for it', async () => {
  const { receiver } = tenant;
  await hooks.create();
  const diff = Object.fromEntries(
    Array.from({ length: 16 }, (_, at) => [`field${at}`, { from: null, to: 'x'.repeat(32_000) }]),
  );
  const ids: string[] = [];
  for (let at = 0; at < 12; at++) ids.push((await hooks.record({ diff })).id);
  await deliver();
  const sizes = receiver.calls.map(({ raw }) => Buffer.byteLength(raw));
  expect(sizes.map((size) => size < 4 * 2 ** 20 + 1_000)).toEqual([true, true]);
  expect(Math.max(...sizes)).toBeGreaterThan(3 * 2 ** 20);
  expect(idsIn(receiver.events())).toEqual(ids);
});

test('deliveries are recorded and never delivered, not to other webhooks either, and wake no webhook', async () => {
  const { receiver } = tenant;
  const made = [await hooks.create(), await hooks.create(), await hooks.create()];
  await hooks.record();
  await deliver();
  // What each of them did to make the next one is an event like any other.
  const before = receiver.calls.length;
  expect(await hooks.log('send')).toHaveLength(before);
  expect(receiver.events().some(({ action }) => action === 'send')).toBe(false);
  for (let again = 0; again < 3; again++) await deliver();
  expect(receiver.calls).toHaveLength(before);
  for (const { id } of made) expect((await hooks.get(id)).behind).toBe(0);
  // A batch is one message to each of them, and so one record.
  await recordAll(service, tenant.key, Array.from({ length: 40 }, eventOf));
  await deliver();
  expect(receiver.calls).toHaveLength(before + made.length);
  expect(await hooks.log('send')).toHaveLength(before + made.length);
  // A producer cannot have its own delivered under
  // that name: that is how the rule can be relied on.
  await hooks.record({ action: 'send', resource: { type: 'webhook', id: tenant.id, name: null } });
  await deliver();
  expect(receiver.calls).toHaveLength(before + made.length);
});

test('filters choose as in the list, with ! they leave out; the rest is passed over', async () => {
  const { receiver } = tenant;
  const ana = eventOf().actor as object;
  const forBo = { onBehalfOf: [{ externalId: 'bo-7', email: 'bo@example.com' }] };
  const of = (action: string, type: string) => ({
    ...(type === 'ivr' ? { actor: { ...ana, ip: '2001:db8::7' }, ...forBo } : {}),
    ...(type === 'queue' ? { correlationId: 'req-7', outcome: 'denied' } : {}),
    action,
    resource: { type, id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11', name: null },
  });
  const wanted: [object, string[]][] = [
    [{ category: ['security'] }, ['login session', 'logout session']],
    [{ category: ['security'], action: ['!logout'] }, ['login session']],
    [{ resource: ['!queue', '!webhook'] }, ['login session', 'logout session', 'update ivr']],
    [{ action: ['update'], resource: ['queue', 'ivr'] }, ['update queue', 'update ivr']],
    [{ resource: ['did'] }, []],
    [{ ip: ['2001:DB8::0:7'] }, ['update ivr']],
    [{ ip: '!2001:db8::7', action: 'update' }, ['update queue']],
    [{ q: '2001:db8::7' }, ['update ivr']],
    [{ onBehalfOf: 'bo-7' }, ['update ivr']],
    [{ onBehalfOf: ['Bo@example.com'] }, ['update ivr']],
    [{ correlationId: 'req-7' }, ['update queue']],
    [{ outcome: 'denied' }, ['update queue']],
    [{ resource: 'did', resourceId: 'no-such-line' }, []],
  ];
  const made = [];
  for (const [filters] of wanted) made.push(await hooks.create({ filters }));
  for (const [action, type] of [
    ['update', 'queue'],
    ['login', 'session'],
    ['update', 'ivr'],
    ['logout', 'session'],
  ] as const) {
    await hooks.record(of(action, type));
  }
  await deliver();
  for (const [at, [filters, expected]] of wanted.entries()) {
    const webhook = made[at];
    const messages = (await hooks.deliveries(webhook.id)).map(({ messageId }) => messageId);
    const events = receiver.calls
      .filter(({ id }) => messages.includes(id))
      .flatMap(({ body }) => body.data.events);
    const words = events.map(
      ({ action, resource }: { action: string; resource: { type: string } }) =>
        `${action} ${resource.type}`,
    );
    expect(words.sort(), JSON.stringify(filters)).toEqual([...expected].sort());
    expect((await hooks.get(webhook.id)).behind).toBe(0);
  }
});

test('a rare event is found behind thousands that are not wanted', async () => {
  const busy = await hookedTenant(service);
  const calls = webhookCalls(service, busy);
  const { id } = await calls.create({ filters: { action: ['publish'] } });
  await calls.recordMany(1_000);
  await growLog(service, busy.id, 11_000);
  const rare = await calls.record({ action: 'publish' });
  await deliver();
  expect(idsIn(busy.receiver.events())).toEqual([rare.id]);
  expect(await calls.get(id)).toMatchObject({ behind: 0, nextSequence: rare.sequence + 2 });
  expect(await calls.deliveries(id)).toHaveLength(1);
  await busy.receiver.close();
});

test('paused it keeps its place, resumed it goes on there', async () => {
  const { receiver } = tenant;
  const { id } = await hooks.create();
  const paused = await hooks.act(id, 'pause');
  expect(paused.body).toMatchObject({ status: 'paused', pausedBecause: 'requested' });
  expect((await hooks.act(id, 'pause')).body).toEqual(paused.body);
  const ids = await hooks.recordMany(3);
  await deliver();
  expect(receiver.calls).toEqual([]);
  expect(await hooks.get(id)).toMatchObject({ behind: 4, nextAttemptAt: null });
  const resumed = await hooks.act(id, 'resume');
  expect(resumed.body).toMatchObject({ status: 'active', pausedBecause: null });
  await deliver();
  const delivered = receiver.events().filter((event) => event.resource.type !== 'webhook');
  expect(idsIn(delivered)).toEqual(ids);
  expect(await hooks.log('pause')).toHaveLength(1);
  expect(await hooks.log('resume')).toHaveLength(1);
});

test('a replay goes back, is recorded, and is refused where nothing was sent yet', async () => {
  const { receiver } = tenant;
  const { id, nextSequence } = await hooks.create();
  const ids = await hooks.recordMany(5);
  await deliver();
  const before = await hooks.get(id);
  const forward = await hooks.act(id, 'replay', { fromSequence: before.nextSequence + 100 });
  expect([forward.status, forward.body.code]).toEqual([409, 'conflict']);
  const back = await hooks.act(id, 'replay', { fromSequence: nextSequence + 2 });
  expect([back.status, back.body.nextSequence]).toEqual([202, nextSequence + 2]);
  await deliver();
  const again = receiver.calls.at(-1)?.body.data.events;
  // What was recorded meanwhile comes along: the replay itself, not the deliveries.
  expect(idsIn(again).slice(0, -1)).toEqual(ids.slice(2));
  expect(again.at(-1)).toMatchObject({ action: 'replay', resource: { type: 'webhook' } });
  const [replayed, ...more] = await hooks.log('replay');
  expect(more).toEqual([]);
  expect(replayed.diff).toEqual({
    nextSequence: { from: before.nextSequence, to: nextSequence + 2 },
  });
  expect(wrongOf(await hooks.act(id, 'replay', { fromSequence: -1 }))).toBe('/fromSequence');
  expect(wrongOf(await hooks.act(id, 'replay', { fromSequence: 1.5 }))).toBe('/fromSequence');
});

test('an event that the receiver never accepts is skipped, and the log says why and by whom', async () => {
  const { receiver } = tenant;
  const { id, nextSequence } = await hooks.create();
  const [refused, ...others] = await hooks.recordMany(3);
  receiver.answers = [{ code: 400 }];
  await deliver();
  expect(idsIn(receiver.events())).toContain(refused);
  const skip = (toSequence: number, reason = 'it never takes this one') =>
    hooks.act(id, 'skip', { toSequence, reason });
  for (const nowhere of [nextSequence, nextSequence + 1_000]) {
    expect((await skip(nowhere)).body.code).toBe('conflict');
  }
  expect(wrongOf(await skip(nextSequence + 1, ''))).toBe('/reason');
  const { status, body } = await skip(nextSequence + 1);
  expect([status, body.nextSequence]).toEqual([202, nextSequence + 1]);
  receiver.calls.length = 0;
  receiver.answers = [{ code: 204 }];
  await deliver();
  expect(idsIn(receiver.events()).filter((each) => others.includes(each))).toEqual(others);
  expect(idsIn(receiver.events())).not.toContain(refused);
  const [skipped] = await hooks.log('skip');
  expect(skipped).toMatchObject({
    actor: { role: 'api_key' },
    diff: { nextSequence: { from: nextSequence, to: nextSequence + 1 } },
  });
});

const wrongOf = (answer: { body: { errors: { path: string }[] } }) => answer.body.errors[0]?.path;

test('a download that became ready is told of in its place, before the event that says so', async () => {
  const { receiver } = tenant;
  service.app.jobs.start();
  const types = ['audit.events.recorded', 'audit.export.ready'];
  const { id, secret } = await hooks.create({ types });
  const only = await hooks.create({ types: ['audit.export.ready'] });
  await hooks.record();
  const job = await askForJob(service, tenant.key, { format: 'ndjson' });
  const ready = await exportUntil(service, tenant.key, job.id, hasEnded);
  // What is sent with the answer is no file that anybody could fetch later.
  const body = { filters: {}, format: 'csv' };
  await service.call({ method: 'POST', url: exportsUrl, key: tenant.key, body });
  await hooks.record();
  await deliver();
  const told = receiver.calls.filter((call) => call.body.type === 'audit.export.ready');
  expect(told.map(({ body: { data } }) => data)).toEqual(
    Array(2).fill({
      tenantId: tenant.id,
      export: {
        id: job.id,
        rows: ready.rowsDone,
        bytes: ready.bytes,
        sha256: ready.sha256,
        format: 'ndjson',
        expiresAt: ready.expiresAt,
      },
    }),
  );
  for (const { body } of told) expectMessageAsDocumented(service.app.http, body);
  const messages = (await hooks.deliveries(id)).reverse();
  const ofEvents = { type: 'audit.events.recorded', events: expect.any(Number) };
  const ofExport = { type: 'audit.export.ready', events: 0 };
  expect(messages).toMatchObject([ofEvents, ofExport, ofEvents]);
  const calls = messages.flatMap(({ messageId }) =>
    receiver.calls.filter((call) => call.id === messageId),
  );
  expect(calls.map((call) => signedBy(secret, call))).toEqual([true, true, true]);
  const [first] = calls[2]?.body.data.events ?? [];
  expect(first).toMatchObject({ action: 'export', sequence: messages[1]?.firstSequence });
  expect(await hooks.deliveries(only.id)).toMatchObject([ofExport]);
  expect((await hooks.get(only.id)).behind).toBe(0);
});

test('a producer cannot announce a download', async () => {
  const { receiver } = tenant;
  await hooks.create({ types: ['audit.export.ready'] });
  const resource = { type: 'export', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11', name: null };
  await hooks.record({ action: 'export', resource, after: { outcome: 'ready' } });
  await deliver();
  expect(receiver.calls).toEqual([]);
});
