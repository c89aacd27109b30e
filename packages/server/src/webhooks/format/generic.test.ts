import fc from 'fast-check';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { send } from '../../testing/http-receiver.ts';
import { generic } from './generic.ts';
import {
  batchOf,
  eventText,
  eventTextsArbitrary,
  hugeDiff,
  parsed,
} from './testing/event-texts.ts';
import { genericReceiver } from './testing/generic-receiver.ts';

const collector = await genericReceiver();
afterAll(collector.close);
const authorization = 'Bearer collector-token';
beforeEach(() => Object.assign(collector, { events: [], trouble: null, authorization }));

const targetOf = (changes: object = {}) => {
  return { url: `${collector.url}/in?a=b`, credential: authorization, options: {}, ...changes };
};

async function deliver(events: readonly string[], changes: object = {}) {
  const { status, text } = await send(generic.deliver(targetOf(changes), batchOf(events)));
  return generic.judge(status, text);
}

async function health(changes: object = {}) {
  const { status, text } = await send(generic.health(targetOf(changes)));
  return generic.judge(status, text);
}

const bodies = ['array', 'ndjson'];

test.each(bodies)('a receiver of %s holds each event whole and in order', async (body) => {
  const events = [eventText(0), eventText(1, { diff: hugeDiff }), eventText(2)];
  expect(await deliver(events, { options: { body } })).toEqual({ ok: true });
  expect(collector.events).toEqual(parsed(events));
});

test.each(bodies)('an event with any content arrives in %s as it was recorded', async (body) => {
  await fc.assert(
    fc.asyncProperty(eventTextsArbitrary, async (events) => {
      collector.events = [];
      expect(await deliver(events, { options: { body } })).toEqual({ ok: true });
      expect(collector.events).toEqual(parsed(events));
    }),
  );
});

test('the array is the default, and it is the very texts that were recorded', () => {
  const events = [eventText(0), eventText(1, { diff: hugeDiff })];
  const { body, headers } = generic.deliver(targetOf(), batchOf(events));
  expect(body).toBe(`[${events.join(',')}]`);
  expect(headers['content-type']).toBe('application/json');
});

test.each(bodies)(
  'the health check of %s is an empty message, sent like any other',
  async (body) => {
    expect(await health({ options: { body } })).toEqual({ ok: true });
    expect(collector.events).toEqual([]);
    expect(collector.requests.at(-1)).toMatchObject({ method: 'POST', path: '/in' });
    expect(collector.requests.at(-1)?.query.get('a')).toBe('b');
  },
);

test('a wrong credential is refused, and the reason does not repeat it, even if the answer does', async () => {
  const credential = 'Bearer mistaken';
  expect(await deliver([eventText(0)], { credential })).toEqual({
    ok: false,
    reason: 'the receiver does not accept the credential (401)',
  });
  collector.authorization = null;
  expect(await deliver([eventText(0)], { credential: null })).toEqual({ ok: true });
  expect(collector.requests.at(-1)?.headers.authorization).toBeUndefined();
});

test.each([500, 503, 429, 404, 400, 413, 410])(
  'a receiver that answers %d is a failure with its words',
  async (status) => {
    collector.trouble = status;
    const reason = expect.stringMatching(/^the receiver .*: not now$/);
    expect(await deliver([eventText(0)])).toEqual({ ok: false, reason });
    collector.trouble = null;
    expect(await deliver([eventText(0)])).toEqual({ ok: true });
  },
);

test('a redirect is a failure that says so', () => {
  expect(generic.judge(307, '')).toEqual({
    ok: false,
    reason: 'the receiver redirected the call (307), which is never followed',
  });
});

test('what a receiver says is kept as one short line', () => {
  const { reason } = { reason: '', ...generic.judge(500, `a\r\n\u2028b\u0007${'c'.repeat(500)}`) };
  expect(reason).toMatch(/^the receiver answered 500: a b c{96}…$/);
});

test('a credential with a line break never becomes a header', () => {
  for (const credential of ['Bearer a\r\nX-Evil: 1', 'a\u0000', 'ü', '', 'x'.repeat(4_097)]) {
    expect(generic.credentialProblem(credential)).toEqual(expect.any(String));
    expect(() => generic.deliver(targetOf({ credential }), batchOf([]))).toThrow(RangeError);
  }
  expect(generic.credentialProblem('Basic YTpi')).toBeNull();
});
