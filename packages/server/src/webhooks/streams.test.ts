import { recordAll } from '@indelible/testing/event-pool';
import { keyOf } from '@indelible/testing/restore-setup';
import { eventOf, testService } from '@indelible/testing/service';
import { webhookReceiver } from '@indelible/testing/webhook-receiver';
import { Webhook } from 'standardwebhooks';
import { beforeEach, expect, test } from 'vitest';
import { hugeDiff } from './format/testing/event-texts.ts';
import { startProducts } from './format/testing/products.ts';

/* Streams from the API to receivers that behave as the products do. */

const service = await testService({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const { cluster, collector, collectors, channels } = await startProducts(() => service.clock.now);
const [, , elastic, generic] = collectors;
beforeEach(() => {
  for (const { clear } of collectors) clear();
});

interface Target {
  format: string;
  receiver: { url: string };
  credential: string;
  options: object;
}

async function streamOf({ format, receiver, credential, options }: Target) {
  const { id: tenantId } = await service.tenant();
  const key = await keyOf(service, tenantId, ['events:write', 'events:read', 'webhooks:write']);
  const body = { format, url: receiver.url, credential, options };
  const made = await service.call({ method: 'POST', url: '/api/webhooks', key, body });
  expect(made.status, made.text).toBe(201);
  return { key, ...made.body, path: `/api/webhooks/${made.body.id}` } as {
    key: string;
    path: string;
    secret?: string;
    nextSequence: number;
  };
}

const awkward = [
  eventOf(),
  eventOf({ resource: { ...(eventOf().resource as object), name: '2025-09-11' } }),
  eventOf({
    diff: { '😀\u2028': { from: '\u2029"}', to: 'a\r\nb\u0085' }, '"diff"': { from: 1, to: null } },
  }),
  eventOf({ diff: hugeDiff }),
  eventOf({
    action: 'login_failed',
    diff: {},
    actor: { ...(eventOf().actor as object), email: null },
  }),
];

/** Delivers what is due, this much later; a stream is due a little after its last delivery. */
async function deliver(laterMs = 1_000) {
  service.clock.now += laterMs;
  await service.app.webhooks.tick();
}

/** What the list shows behind the stream's beginning, oldest first, but for deliveries. */
async function listed({ key, nextSequence }: { key: string; nextSequence: number }) {
  const query = `sort=sequence&after_sequence=${nextSequence - 1}&action=!send&limit=500`;
  const { body } = await service.call({ url: `/api/audit-logs?${query}`, key });
  return body.data;
}

const testOf = async ({ key, path }: { key: string; path: string }) =>
  (await service.call({ method: 'POST', url: `${path}/test`, key })).body;

test('an attacker who can write the table gets neither credential nor own headers sent to another receiver', async () => {
  const { id: tenantId } = await service.tenant();
  const key = await keyOf(service, tenantId, ['events:write', 'events:read', 'webhooks:write']);
  const post = (path: string, body?: object) =>
    service.call({ method: 'POST', url: `/api/webhooks${path}`, key, ...(body && { body }) });
  for (const made of [
    { format: 'generic', credential: 'Bearer only-for-the-collector' },
    { format: 'webhook', headers: { 'x-route-key': 'only-for-the-collector' } },
  ]) {
    const other = await webhookReceiver();
    const { body } = await post('', { url: collector.url, ...made });
    const redirected = 'UPDATE webhooks SET url = $2 WHERE tenant_id = $1';
    await service.db.writer.query(redirected, [tenantId, other.url]);
    const tested = await post(`/${body.id}/test`);
    expect(tested.body.reason).toContain('cannot be decrypted');
    const renamed = `UPDATE webhooks SET headers = replace(headers::text, '":', ':' || $2 || '":')::json
      WHERE tenant_id = $1`;
    await service.db.writer.query(renamed, [tenantId, new URL(collector.url).origin]);
    const again = await post(`/${body.id}/test`);
    expect(again.body.reason).toContain('cannot be decrypted');
    expect(other.calls).toEqual([]);
    await other.close();
  }
});

test.each(collectors)(
  '$format: the receiver holds exactly what was recorded, in order',
  async (stream) => {
    const made = await streamOf(stream);
    for (const events of [awkward, Array.from({ length: 130 }, () => eventOf())]) {
      await recordAll(service, made.key, events);
      await deliver();
    }
    const held = stream.held();
    expect(held).toEqual(await listed(made));
    expect(held).toHaveLength(135);
    const { body } = await service.call({ url: made.path, key: made.key });
    expect(body).toMatchObject({
      status: 'active',
      attempt: 0,
      lastDelivery: { status: 'delivered' },
    });
  },
);

test.each(collectors)(
  '$format: a test says whether the receiver would take it, and sends no event',
  async (stream) => {
    const made = await streamOf(stream);
    expect(await testOf(made)).toMatchObject({
      ok: true,
      status: expect.any(Number),
      reason: null,
    });
    const wrong = 'c3VyZWx5LW5vdC1rbm93bg';
    const patch = {
      method: 'PATCH',
      url: made.path,
      key: made.key,
      body: { credential: wrong },
    } as const;
    expect((await service.call(patch)).status).toBe(200);
    const { ok, reason } = await testOf(made);
    expect({ ok, reason }).toEqual({ ok: false, reason: stream.refused[1] });
    expect(stream.held()).toEqual([]);
  },
);

test.each(collectors)(
  '$format: the credential is shown nowhere, whatever comes of it',
  async (stream) => {
    const made = await streamOf({ ...stream, credential: 'c3VyZWx5LW5vdC1rbm93bg' });
    await recordAll(service, made.key, [eventOf()]);
    await deliver();
    const { body } = await service.call({ url: made.path, key: made.key });
    expect(body.lastDelivery.reason).toBe(stream.refused[0]);
    await testOf(made);
    for (const url of [made.path, `${made.path}/deliveries`, '/api/audit-logs?limit=500']) {
      const { text } = await service.call({ url, key: made.key });
      expect(text).not.toContain('c3VyZWx5LW5vdC1rbm93bg');
    }
  },
);

test.each(channels)(
  '$format: people read of each event of a message, and nowhere of the credential',
  async (channel) => {
    const made = await streamOf(channel);
    expect(await testOf(made)).toMatchObject({ ok: true });
    const before = channel.read().length;
    await recordAll(service, made.key, awkward);
    await deliver();
    const events = await listed(made);
    expect(channel.read().slice(before)).toEqual(
      events.map(() => expect.stringMatching(/ (update|login_failed) queue /)),
    );
    const { body } = await service.call({ url: made.path, key: made.key });
    expect(body).toMatchObject({ behind: 0, lastDelivery: { status: 'delivered' } });
    const wrong = { method: 'PATCH', url: made.path, key: made.key } as const;
    await service.call({ ...wrong, body: { credential: `${channel.credential}x` } });
    expect(await testOf(made)).toMatchObject({ ok: false });
    for (const url of [made.path, `${made.path}/deliveries`, '/api/audit-logs?limit=500']) {
      const { text } = await service.call({ url, key: made.key });
      expect(text).not.toContain(channel.credential);
    }
  },
);

test('Elastic: a message of which a part was stored is sent again, and nothing is there twice', async () => {
  const made = await streamOf(elastic);
  await recordAll(service, made.key, awkward);
  const events = await listed(made);
  cluster.trouble.set(events[2].id, 429);
  await deliver();
  expect(elastic.held()).toHaveLength(4);
  cluster.trouble.clear();
  await deliver(6_000);
  const held = elastic.held() as { sequence: number }[];
  expect(held.sort((one, other) => one.sequence - other.sequence)).toEqual(events);
});

test('generic: each message is signed as Standard Webhooks says', async () => {
  const { key, secret = '' } = await streamOf(generic);
  const verifier = new Webhook(secret);
  await recordAll(service, key, awkward);
  await deliver();
  const { body = '', headers } = collector.requests.at(-1) ?? {};
  const given = headers as Record<string, string>;
  // The library reads a body as JSON when it fits;
  // NDJSON is not, so a fitting one fails only there.
  expect(() => verifier.verify(body, given)).toThrow(SyntaxError);
  expect(() => verifier.verify(`${body} `, given)).toThrow('No matching signature found');
});
