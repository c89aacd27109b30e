import { send } from '@indelible/testing/http-receiver';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { elastic } from './elastic.ts';
import { elasticReceiver } from './testing/elastic-receiver.ts';
import { batchOf, deniedAgent, eventText, hugeDiff, parsed } from './testing/event-texts.ts';
import { exchangeOf } from './testing/exchange.ts';

const cluster = await elasticReceiver();
afterAll(cluster.close);
beforeEach(() => {
  cluster.documents.clear();
  cluster.trouble.clear();
  Object.assign(cluster, { mayMonitor: true, authorization: 'ApiKey aWQ6a2V5' });
});

const { targetOf, deliver, health } = exchangeOf(elastic, () => {
  return { url: cluster.url, credential: 'aWQ6a2V5', options: {} };
});

const idOf = (text: string): string => JSON.parse(text).id;
const held = () => [...cluster.documents.values()].map(({ indelible }) => indelible);
/** What is held of these events, where each diff is one text. */
const flat = (texts: readonly string[]) =>
  texts.map((text) => {
    const diff = text.slice(text.indexOf('"diff":') + 7, text.lastIndexOf(',"crossTenant":'));
    return { ...JSON.parse(text), diff };
  });

test('Elastic holds each event whole, in order, under its own id and the common schema', async () => {
  const events = [eventText(0), eventText(1, { diff: hugeDiff })];
  expect(await deliver(events)).toEqual({ ok: true });
  expect([...cluster.documents.keys()]).toEqual(events.map(idOf));
  expect(held()).toEqual(flat(events));
  expect([...cluster.documents.values()][0]).toMatchObject({
    '@timestamp': '2025-09-11T08:30:00.007Z',
    message: 'ana@example.com update queue Support',
    event: {
      kind: 'event',
      id: idOf(events[0] ?? ''),
      action: 'update',
      category: ['configuration'],
      type: ['change'],
      sequence: 0,
    },
    user: {
      id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a',
      email: 'ana@example.com',
      roles: ['admin'],
    },
    source: { ip: '203.0.113.7' },
    user_agent: { original: 'Mozilla/5.0' },
    organization: { id: '019a1c2e-0d3b-7f44-9a51-2b7c8d9e0f13' },
  });
});

test('Elastic holds the outcome, the trace and the person for whom an assistant acted', async () => {
  const [denied, changed] = [
    eventText(0, deniedAgent),
    eventText(1, { context: { metadata: { plan: 'five' } } }),
  ];
  // As an object, the number of the first would refuse the text of the second.
  expect(await deliver([denied, changed])).toEqual({ ok: true });
  const [first, second] = [...cluster.documents.values()];
  expect(first).toMatchObject({
    event: { outcome: 'failure' },
    user: { full_name: 'Planner', effective: { email: 'ana@example.com', full_name: 'Ana' } },
    trace: { id: '0af7651916cd43dd8448eb211c80319c' },
    indelible: { outcome: 'denied', metadata: '{"\\"}]":"{\\"diff\\":","plan":3}' },
  });
  expect(second).toMatchObject({ indelible: { metadata: '{"plan":"five"}' } });
});

test.each([
  ['login', 'success'],
  ['login_failed', 'failure'],
  ['payment.failed', 'failure'],
  ['update', undefined],
])('in Elastic the outcome of %s is %s unless it is stated', async (action, outcome) => {
  await deliver([eventText(0, { action })]);
  const [document] = cluster.documents.values();
  expect((document as { event: { outcome?: string } }).event.outcome).toBe(outcome);
});

test('a message sent again stores nothing twice and counts as delivered', async () => {
  const events = [eventText(0), eventText(1)];
  await deliver(events.slice(0, 1));
  expect(await deliver(events)).toEqual({ ok: true });
  expect(await deliver(events)).toEqual({ ok: true });
  expect(held()).toEqual(flat(events));
});

test('a message of which one event met a full queue is repeated, and then all of it is there', async () => {
  const events = [eventText(0), eventText(1), eventText(2)];
  cluster.trouble.set(idOf(events[1] ?? ''), 429);
  expect(await deliver(events)).toEqual({
    ok: false,
    reason: `Elasticsearch did not take event ${idOf(events[1] ?? '')} (429): es_rejected_execution_exception: queue is full`,
  });
  cluster.trouble.clear();
  expect(await deliver(events)).toEqual({ ok: true });
  expect(cluster.documents.size).toBe(3);
});

test('the kept part of an answer names the reason, even when all of a full message is refused', async () => {
  const events = Array.from({ length: 100 }, (_, n) => eventText(n));
  for (const event of events) cluster.trouble.set(idOf(event), 400);
  const { status, text } = await send(elastic.deliver(targetOf(), batchOf(events)));
  expect(Buffer.byteLength(text)).toBeLessThan(32 * 1024);
  const reason = expect.stringMatching(/did not take event evt_audit_\w+ and 99 more \(400\)/);
  expect(elastic.judge(status, text)).toEqual({ ok: false, reason });
});

test('a field that changes its type breaks a stream of objects, and the reason names event and field', async () => {
  const options = { index: 'objects', diff: 'object' };
  const second = eventText(1, { diff: { maxWait: { from: 60, to: 'for ever' } } });
  const events = [eventText(0), second, eventText(2)];
  cluster.trouble.set(idOf(events[2] ?? ''), 429);
  expect(await deliver(events, { options })).toEqual({
    ok: false,
    reason: `Elasticsearch did not take event ${idOf(second)} and 1 more (400): document_parsing_exception: failed to parse field [indelible.diff.maxWait.to] of type [long]`,
  });
  expect(held()).toEqual(parsed(events.slice(0, 1)));
});

test.each(['login', 'login_failed', 'play', 'push', 'mfa_configured', 'delete', 'constructor'])(
  'the action %s gets a category and a type that the common schema allows',
  async (action) => {
    const category = { login: 'security', play: 'data_access', push: 'integration' }[action];
    await deliver([eventText(0, { action, category: category ?? 'configuration' })]);
    const [document] = [...cluster.documents.values()];
    const { category: [own] = [], type } = { ...document }.event as Record<string, string[]>;
    expect(['configuration', 'database', 'authentication', 'api', 'iam']).toContain(own);
    expect(
      type?.every((word) => /^(change|access|creation|deletion|start|end|info|user)$/.test(word)),
    ).toBe(true);
  },
);

test('an operator’s event is categorised by what was done', async () => {
  await deliver([eventText(0, { action: 'access', category: 'cross_tenant' })]);
  const [document] = [...cluster.documents.values()];
  expect(document?.event).toMatchObject({ category: ['database'], type: ['access'] });
});

test.each([
  ['aWQ6a2V5', 'ApiKey aWQ6a2V5'],
  ['ApiKey aWQ6a2V5', 'ApiKey aWQ6a2V5'],
  ['elastic:pass:word', 'Basic ZWxhc3RpYzpwYXNzOndvcmQ='],
  ['Basic ZWxhc3RpYzpw', 'Basic ZWxhc3RpYzpw'],
])('the credential %s is sent as %s', async (credential, authorization) => {
  cluster.authorization = authorization;
  expect(await health({ credential })).toEqual({ ok: true });
  expect(await deliver([eventText(0)], { credential })).toEqual({ ok: true });
});

test('a key that may only write is healthy', async () => {
  cluster.mayMonitor = false;
  expect(await health()).toEqual({ ok: true });
});

test.each(['', '/', '/_bulk', '/_bulk/'])(
  'the URL may be entered with the path %s',
  async (path) => {
    const changes = { url: `${cluster.url}${path}` };
    expect(await deliver([eventText(0)], changes)).toEqual({ ok: true });
    expect(await health(changes)).toEqual({ ok: true });
  },
);

test('a proxy’s path and a pipeline stay; an index in front of _bulk is refused', () => {
  const url = 'https://proxy.example/es?pipeline=geo';
  const called = new URL(elastic.deliver(targetOf({ url }), batchOf([])).url);
  expect(called.pathname).toBe('/es/_bulk');
  expect(called.searchParams.get('pipeline')).toBe('geo');
  expect(elastic.urlProblem(url)).toBeNull();
  expect(elastic.urlProblem('https://es.example/audit/_bulk')).toContain('index as an option');
});

test('an answer of something that is neither Elasticsearch nor OpenSearch is not healthy', () => {
  expect(elastic.judgeHealth(200, '<html>Welcome</html>')).toMatchObject({ ok: false });
  expect(elastic.judgeHealth(200, '{"version":"3"}')).toMatchObject({ ok: false });
  const openSearch = '{"version":{"distribution":"opensearch","number":"3.2.0"}}';
  expect(elastic.judgeHealth(200, openSearch)).toEqual({ ok: true });
});

test('a webhook without a credential sends no header', () => {
  expect(elastic.health(targetOf({ credential: null })).headers).toEqual({});
});
