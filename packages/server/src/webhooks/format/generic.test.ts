import { afterAll, beforeEach, expect, test } from 'vitest';
import { generic } from './generic.ts';
import { batchOf, eventText, hugeDiff } from './testing/event-texts.ts';
import { exchangeOf } from './testing/exchange.ts';
import { genericReceiver } from './testing/generic-receiver.ts';

const collector = await genericReceiver();
afterAll(collector.close);
const authorization = 'Bearer collector-token';
beforeEach(() => Object.assign(collector, { events: [], authorization }));

const { targetOf, deliver, health } = exchangeOf(generic, () => {
  return { url: `${collector.url}/in?a=b`, credential: authorization, options: {} };
});

test('the array is the default, and it is the very texts that were recorded', () => {
  const events = [eventText(0), eventText(1, { diff: hugeDiff })];
  const { body, headers } = generic.deliver(targetOf(), batchOf(events));
  expect(body).toBe(`[${events.join(',')}]`);
  expect(headers['content-type']).toBe('application/json');
});

test.each(['array', 'ndjson'])(
  'the health check of %s is an empty message, sent like any other',
  async (body) => {
    expect(await health({ options: { body } })).toEqual({ ok: true });
    expect(collector.events).toEqual([]);
    expect(collector.requests.at(-1)).toMatchObject({ method: 'POST', path: '/in' });
    expect(collector.requests.at(-1)?.query.get('a')).toBe('b');
  },
);

test('a webhook without a credential sends no header', async () => {
  collector.authorization = null;
  expect(await deliver([eventText(0)], { credential: null })).toEqual({ ok: true });
  expect(collector.requests.at(-1)?.headers.authorization).toBeUndefined();
});

test('a redirect is a failure that says so', () => {
  expect(generic.judge(307, '')).toEqual({
    ok: false,
    reason: 'the receiver redirected the call (307), which is never followed',
  });
});

test("a receiver's answer is kept as one short line", () => {
  const { reason } = { reason: '', ...generic.judge(500, `a\r\n\u2028b\u0007${'c'.repeat(500)}`) };
  expect(reason).toMatch(/^the receiver answered 500: a b c{96}…$/);
});

test('a complete `Authorization` is a credential', () => {
  expect(generic.credentialProblem('Basic YTpi')).toBeNull();
});
