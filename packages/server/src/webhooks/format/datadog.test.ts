import { afterAll, beforeEach, expect, test } from 'vitest';
import { datadog } from './datadog.ts';
import { datadogReceiver } from './testing/datadog-receiver.ts';
import {
  batchOf,
  deniedAgent,
  eventText,
  hugeDiff,
  parsed,
  startMs,
} from './testing/event-texts.ts';
import { exchangeOf } from './testing/exchange.ts';

const clock = { now: startMs + 60_000 };
const dog = await datadogReceiver(() => clock.now);
afterAll(dog.close);
beforeEach(() => {
  clock.now = startMs + 60_000;
  Object.assign(dog, { logs: [], dropped: 0, truncated: 0 });
});

const { targetOf, deliver } = exchangeOf(datadog, () => {
  return { url: dog.url, credential: dog.key, options: {} };
});

const held = () => dog.logs.map(({ attributes }) => attributes.indelible);

test('Datadog holds each event whole, in order, at its own time, under the standard attributes', async () => {
  const events = [eventText(0), eventText(1, { diff: hugeDiff })];
  expect(await deliver(events)).toEqual({ ok: true });
  expect(held()).toEqual(parsed(events));
  expect(dog.truncated).toBe(0);
  const [{ date, attributes } = { date: 0, attributes: {} }] = dog.logs;
  expect(date).toBe(startMs);
  expect(attributes).toMatchObject({
    ddsource: 'indelible',
    service: 'indelible',
    message: 'ana@example.com update queue Support',
    usr: { id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', email: 'ana@example.com', role: 'admin' },
    network: { client: { ip: '203.0.113.7' } },
    http: { useragent: 'Mozilla/5.0' },
    evt: { name: 'update', category: 'configuration' },
  });
});

test('Datadog shows that an assistant acted, for whom, and that it was denied', async () => {
  const events = [eventText(0, deniedAgent)];
  expect(await deliver(events)).toEqual({ ok: true });
  expect(held()).toEqual(parsed(events));
  expect(dog.logs[0]?.attributes).toMatchObject({
    message: 'assistant Planner for ana@example.com update queue Support (denied)',
    usr: { id: startId, name: 'Planner', role: 'admin' },
    evt: { name: 'update', outcome: 'denied' },
  });
});

test('events older than eighteen hours are not lost: they stand at the time of their arrival', async () => {
  clock.now = startMs + 18 * 3_600_000 + 1_000;
  const events = [eventText(0), eventText(7_200)];
  expect(await deliver(events, {}, clock.now)).toEqual({ ok: true });
  expect(dog.dropped).toBe(0);
  expect(held()).toEqual(parsed(events));
  expect(dog.logs.map(({ date }) => date)).toEqual([clock.now, startMs + 7_200_000]);
});

test('tags, source, host and service are the ones chosen, and the diff may be one text', async () => {
  const chosen = {
    ddsource: 'audit',
    ddtags: 'env:prod,team:sec',
    hostname: 'eu-1',
    service: 'cc',
  };
  await deliver([eventText(0)], { options: { ...chosen, diff: 'text' } });
  expect(dog.logs[0]?.attributes).toMatchObject(chosen);
  expect(held()).toMatchObject([{ diff: '{"maxWait":{"from":30,"to":60}}' }]);
});

test.each([
  ['https://datadoghq.com', 'datadoghq.com'],
  ['https://app.datadoghq.eu/logs', 'datadoghq.eu'],
  ['https://us3.datadoghq.com', 'us3.datadoghq.com'],
  ['https://api.us5.datadoghq.com/api/v1/validate', 'us5.datadoghq.com'],
  ['https://http-intake.logs.ap1.datadoghq.com/api/v2/logs', 'ap1.datadoghq.com'],
  ['https://http-intake.logs.datadoghq.com/v1/input', 'datadoghq.com'],
  ['https://app.ddog-gov.com/', 'ddog-gov.com'],
])('%s is understood as the site %s', (url, site) => {
  const target = targetOf({ url });
  expect(datadog.deliver(target, batchOf([])).url).toBe(
    `https://http-intake.logs.${site}/api/v2/logs`,
  );
  expect(datadog.health(target).url).toBe(`https://api.${site}/api/v1/validate`);
});

test('any other host, a proxy for instance, is called as it was entered', () => {
  for (const url of ['https://evildatadoghq.com/x', 'https://proxy.example/x/api/v2/logs']) {
    const base = `${new URL(url).origin}/x`;
    expect(datadog.deliver(targetOf({ url }), batchOf([])).url).toBe(`${base}/api/v2/logs`);
    expect(datadog.health(targetOf({ url })).url).toBe(`${base}/api/v1/validate`);
  }
});

test('a full message with everything around it stays below five megabytes', async () => {
  const big = { big: { from: null, to: 'x'.repeat(16_000) } };
  const actor = { id: startId, email: null, role: 'admin', ip: null, userAgent: 'u'.repeat(1_024) };
  const resource = { type: 'queue', id: startId, name: '"'.repeat(200) };
  const events = Array.from({ length: 100 }, (_, n) =>
    eventText(n, { diff: big, actor, resource }),
  );
  const bytes = events.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  expect(bytes).toBeLessThan(datadog.messageBytesMax);
  const { body } = datadog.deliver(targetOf(), batchOf(events));
  expect(Buffer.byteLength(body) - bytes + datadog.messageBytesMax).toBeLessThan(5_000_000);
});
const startId = '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a';

test('also with the difference as a text, which doubles what is quoted, a full message stays below that', () => {
  const quoted = { '"': { from: null, to: '"\\'.repeat(8_000) } };
  const event = eventText(0, { diff: quoted });
  const count = Math.floor(datadog.messageBytesMax / Buffer.byteLength(event));
  const events = Array.from({ length: count }, () => event);
  const { body } = datadog.deliver(targetOf({ options: { diff: 'text' } }), batchOf(events));
  expect(count).toBeGreaterThan(50);
  expect(Buffer.byteLength(body)).toBeLessThan(5_000_000);
});

test('an answer of something that is not Datadog is no success', () => {
  expect(datadog.judgeHealth(200, '<html>Welcome</html>')).toMatchObject({ ok: false });
  expect(datadog.judge(500, '<html>')).toMatchObject({ reason: 'Datadog answered 500' });
});

test('a key in the URL is refused', () => {
  expect(datadog.urlProblem('https://datadoghq.com/?dd-api-key=abc')).toContain('credential');
});
