import { Webhook } from 'standardwebhooks';
import { afterAll, expect, test } from 'vitest';
import { keyOf } from '../testing/restore-setup.ts';
import { eventOf, testService } from '../testing/service.ts';
import { webhookReceiver } from '../testing/webhook-receiver.ts';
import { datadogReceiver } from './format/testing/datadog-receiver.ts';
import { elasticReceiver } from './format/testing/elastic-receiver.ts';
import { hugeDiff } from './format/testing/event-texts.ts';
import { genericReceiver } from './format/testing/generic-receiver.ts';
import { pagerdutyReceiver } from './format/testing/pagerduty-receiver.ts';
import { slackReceiver } from './format/testing/slack-receiver.ts';
import { splunkReceiver } from './format/testing/splunk-receiver.ts';
import { teamsReceiver } from './format/testing/teams-receiver.ts';

/* Streams from the API to receivers that behave as the products do. */

const service = await testService({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const splunk = await splunkReceiver();
const dog = await datadogReceiver(() => service.clock.now);
const cluster = await elasticReceiver();
const collector = await genericReceiver();
const [slack, teams, duty] = [
  await slackReceiver(),
  await teamsReceiver(),
  await pagerdutyReceiver(),
];
afterAll(async () => {
  for (const { close } of [splunk, dog, cluster, collector, slack, teams, duty, service])
    await close();
});

interface Stream {
  format: string;
  receiver: { url: string; close(): Promise<void>; reopen(): Promise<void> };
  credential: string;
  options: Record<string, string>;
  /** The events that the receiver holds. */
  held: () => unknown[];
  /** What a test says of a credential that the receiver does not know. */
  refused: string;
}

const streams: Stream[] = [
  {
    format: 'splunk_hec',
    receiver: splunk,
    credential: splunk.token,
    options: { index: 'audit' },
    held: () => splunk.events.map(({ event }) => event),
    refused: 'Splunk does not know the token (code 21)',
  },
  {
    format: 'datadog',
    receiver: dog,
    credential: dog.key,
    options: { ddtags: 'env:test' },
    held: () => dog.logs.map(({ attributes }) => attributes.indelible),
    refused:
      'Datadog does not accept the API key (403): check the key, that it is an API key, and the site in the URL',
  },
  {
    format: 'elastic',
    receiver: cluster,
    credential: 'aWQ6a2V5',
    options: {},
    held: () =>
      [...cluster.documents.values()].map(({ indelible }) => {
        const event = indelible as Record<string, unknown>;
        return { ...event, diff: JSON.parse(String(event.diff)) as unknown };
      }),
    refused: 'Elasticsearch does not accept the credential (401)',
  },
  {
    format: 'generic',
    receiver: collector,
    credential: 'Bearer collector-token',
    options: { body: 'ndjson' },
    held: () => collector.events,
    refused: 'the receiver does not accept the credential (401)',
  },
];

type Target = Pick<Stream, 'format' | 'receiver' | 'credential' | 'options'>;

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

async function record(key: string, events: readonly object[]) {
  const body = { events };
  const answer = await service.call({ method: 'POST', url: '/api/audit-logs/batch', key, body });
  expect(answer.body.results.every((each: { status: string }) => each.status === 'created')).toBe(
    true,
  );
}

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

test('who can write the table has neither credential nor own headers sent to another receiver', async () => {
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

test.each(streams)(
  '$format: the receiver holds exactly what was recorded, in order',
  async (stream) => {
    const made = await streamOf(stream);
    const before = stream.held().length;
    for (const events of [awkward, Array.from({ length: 130 }, () => eventOf())]) {
      await record(made.key, events);
      await deliver();
    }
    const held = stream.held().slice(before);
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

test.each(streams)(
  '$format: a test says whether the receiver would take it, and sends no event',
  async (stream) => {
    const made = await streamOf(stream);
    const before = stream.held().length;
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
    expect({ ok, reason }).toEqual({ ok: false, reason: stream.refused });
    expect(stream.held()).toHaveLength(before);
  },
);

test.each(streams)(
  '$format: a receiver that was down gets everything when it is back',
  async (stream) => {
    const made = await streamOf(stream);
    const before = stream.held().length;
    await stream.receiver.close();
    await record(made.key, awkward);
    await deliver();
    const { body } = await service.call({ url: made.path, key: made.key });
    expect(body).toMatchObject({
      status: 'active',
      attempt: 1,
      lastDelivery: { status: 'failed', reason: 'the connection was refused' },
    });
    await stream.receiver.reopen();
    await record(made.key, [eventOf({ action: 'delete' })]);
    service.clock.now += 6_000;
    await deliver();
    const held = stream.held().slice(before);
    expect(held).toEqual(await listed(made));
    expect(held).toHaveLength(6);
  },
);

test.each(streams)(
  '$format: the credential is shown nowhere, whatever comes of it',
  async (stream) => {
    const made = await streamOf({ ...stream, credential: 'c3VyZWx5LW5vdC1rbm93bg' });
    await record(made.key, [eventOf()]);
    await deliver();
    await testOf(made);
    for (const url of [made.path, `${made.path}/deliveries`, '/api/audit-logs?limit=500']) {
      const { text } = await service.call({ url, key: made.key });
      expect(text).not.toContain('c3VyZWx5LW5vdC1rbm93bg');
    }
  },
);

const people = [
  {
    ...{ format: 'slack', receiver: slack, credential: slack.path, options: {} },
    read: () => slack.messages.flatMap(({ lines }) => lines.slice(0, 20)),
  },
  {
    ...{ format: 'teams', credential: teams.signature, options: {} },
    receiver: { ...teams, url: `${teams.url}${teams.path}?api-version=1` },
    read: () => teams.cards.flatMap(({ lines }) => lines),
  },
  {
    ...{ format: 'pagerduty', receiver: duty, credential: duty.key, options: {} },
    read: () => [...duty.incidents.values()].map(({ summary, link }) => `${summary} ${link}`),
  },
];

test.each(people)(
  '$format: people read of each event of a message, and nowhere of the credential',
  async (channel) => {
    const made = await streamOf(channel);
    expect(await testOf(made)).toMatchObject({ ok: true });
    const before = channel.read().length;
    await record(made.key, awkward);
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
  const [, , stream] = streams;
  if (!stream) throw new Error('there is no stream');
  const made = await streamOf(stream);
  const before = stream.held().length;
  await record(made.key, awkward);
  const events = await listed(made);
  cluster.trouble.set(events[2].id, 429);
  await deliver();
  expect(stream.held()).toHaveLength(before + 4);
  cluster.trouble.clear();
  await deliver(6_000);
  const held = stream.held().slice(before) as { sequence: number }[];
  expect(held.sort((one, other) => one.sequence - other.sequence)).toEqual(events);
});

test('generic: each message is signed as Standard Webhooks says', async () => {
  const stream = streams.at(-1);
  if (!stream) throw new Error('there is no stream');
  const { key, secret = '' } = await streamOf(stream);
  const verifier = new Webhook(secret);
  await record(key, awkward);
  await deliver();
  const { body = '', headers } = collector.requests.at(-1) ?? {};
  const given = headers as Record<string, string>;
  // The library reads a body as JSON when it fits;
  // NDJSON is not, so a fitting one fails only there.
  expect(() => verifier.verify(body, given)).toThrow(SyntaxError);
  expect(() => verifier.verify(`${body} `, given)).toThrow('No matching signature found');
});

test('what would never work is refused when it is entered, with every reason', async () => {
  const { id } = await service.tenant();
  const key = await keyOf(service, id, ['events:read', 'webhooks:write']);
  const body = {
    format: 'splunk_hec',
    url: 'https://splunk.example.com?token=abc',
    credential: 'abc\r\nX-Evil: 1',
    options: { index: 'A B', colour: 'red' },
  };
  const { status, body: problem } = await service.call({
    method: 'POST',
    url: '/api/webhooks',
    key,
    body,
  });
  expect(status).toBe(422);
  const paths = problem.errors.map(({ path }: { path: string }) => path);
  expect(paths.sort()).toEqual(['/credential', '/options/colour', '/options/index', '/url']);
});
