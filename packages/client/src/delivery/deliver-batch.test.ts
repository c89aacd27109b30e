import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { BatchResult } from '../api-types.ts';
import { newEventId } from '../event/outgoing-event.ts';
import { notTheService, UnreachableError } from '../http/errors.ts';
import { createClient } from '../index.ts';
import { type Answer, scriptedService } from '../testing/scripted-service.ts';
import { type BatchClient, deliverBatch, endedBy } from './deliver-batch.ts';

/** What comes of these texts when the service answers so, and the batches that it was sent. */
async function delivered(texts: string[], answers: Answer[]) {
  const { url, received, close } = await scriptedService(answers);
  onTestFinished(close);
  const delivery = await deliverBatch(createClient({ url, key: 'idl_x', attempts: 1 }), texts);
  const batches = received.map(({ body }) => JSON.parse(body).events);
  const statuses = delivery.outcomes.map(({ status }) => status);
  return { ...delivery, batches, statuses };
}

const created = { status: 'created' };
const rejected = (code: string) => ({ status: 'rejected', error: { code, detail: 'why' } });
const results = (...each: object[]): Answer => {
  return { body: { results: each.map((result, index) => ({ index, ...result })) } };
};
const problem = (status: number, code: string): Answer => ({
  status,
  body: { code, detail: 'why' },
});

test('what was stored before counts as stored, what is refused as rejected, each with its reason', async () => {
  const answers = [results(created, { status: 'duplicate' }, rejected('validation_failed'))];
  const { statuses, outcomes, trouble } = await delivered(['1', '2', '3'], answers);
  expect(statuses).toEqual(['stored', 'stored', 'rejected']);
  expect(outcomes[2]).toMatchObject({ error: { code: 'validation_failed', status: 422 } });
  expect(trouble).toBeNull();
});

test('a reason that only a newer service knows refuses one event, and holds up no other', async () => {
  for (const code of ['quota_of_tomorrow', 'constructor', '']) {
    const { statuses, outcomes, trouble } = await delivered(
      ['1', '2'],
      [results(rejected(code), created)],
    );
    expect(statuses).toEqual(['rejected', 'stored']);
    expect(outcomes[0]).toMatchObject({ error: { code, status: 422, message: 'why' } });
    expect(trouble).toBeNull();
  }
});

test('an event that was not looked at is sent again, whatever became of the others', async () => {
  const answers = [results(created, rejected('unavailable'), rejected('unauthenticated'))];
  const { statuses, trouble } = await delivered(['1', '2', '3'], answers);
  expect(statuses).toEqual(['stored', 'again', 'again']);
  expect(trouble).toMatchObject({ kind: 'away', error: { code: 'unavailable' } });
});

test('an event that is in the future for a clock that is behind waits, and one from the far future is refused', async () => {
  const hourMs = 3_600_000;
  const inHours = (hours: number) =>
    JSON.stringify({ id: newEventId(Date.now() + hours * hourMs) });
  const future = rejected('timestamp_in_future');
  const texts = [inHours(0), inHours(2), inHours(25), '{"id":"evt_audit_"}'];
  const { statuses, trouble } = await delivered(texts, [results(future, future, future, future)]);
  expect(statuses).toEqual(['again', 'again', 'rejected', 'rejected']);
  expect(trouble).toMatchObject({ kind: 'away', error: { code: 'timestamp_in_future' } });
});

test.each([
  ['no answer', { hangUp: true }, 'away'],
  ['a busy service', problem(503, 'unavailable'), 'away'],
  ['too many requests', problem(429, 'rate_limited'), 'away'],
  ['a failing service', problem(500, 'internal_error'), 'away'],
  ['a gateway', { status: 502, body: 'Bad Gateway' }, 'away'],
  ['a wrong key', problem(401, 'unauthenticated'), 'refused'],
  ['a key without the scope', problem(403, 'forbidden'), 'refused'],
  ['a wrong address', { status: 404, body: 'nginx' }, 'refused'],
  ['something else that answers', { body: { results: [] } }, 'refused'],
  ['a proxy that takes no body', { status: 400, body: '<html>Bad Request</html>' }, 'refused'],
  ['a proxy with a small limit', { status: 413, body: '<html>Too Large</html>' }, 'refused'],
  ['another API', { status: 422, body: { message: 'no such field' } }, 'refused'],
  ['another API with codes', problem(422, 'unknown_field'), 'refused'],
] as const)(
  '%s keeps every event, and says whether somebody has to act',
  async (_, answer, kind) => {
    const { statuses, trouble } = await delivered(['1', '2'], [answer]);
    expect(statuses).toEqual(['again', 'again']);
    expect(trouble?.kind).toBe(kind);
  },
);

test('a batch that cannot be read as a whole is halved until the event at fault is alone', async () => {
  const unreadable = problem(400, 'malformed_json');
  const answers = [unreadable, results(created, created), unreadable, unreadable, results(created)];
  const { statuses, outcomes, batches, trouble } = await delivered(['1', '2', '3', '4'], answers);
  expect(batches).toEqual([[1, 2, 3, 4], [1, 2], [3, 4], [3], [4]]);
  expect(statuses).toEqual(['stored', 'stored', 'rejected', 'stored']);
  expect(outcomes[2]).toMatchObject({ error: { code: 'malformed_json' } });
  expect(trouble).toBeNull();
});

test('of a halved batch nothing overtakes what has to be sent again', async () => {
  const answers = [
    { status: 413, body: 'too large for this proxy' },
    { hangUp: true },
    results(created),
  ];
  const { statuses, batches, trouble } = await delivered(['1', '2'], answers);
  expect(statuses).toEqual(['again', 'again']);
  expect(batches).toEqual([[1, 2], [1]]);
  expect(trouble?.kind).toBe('away');
});

test('an event that is too large for a proxy holds up its own tenant alone', async () => {
  const [tooLarge, next, other] = ['a', 'a', 'b'].map((tenantId) => JSON.stringify({ tenantId }));
  const proxy = { status: 413, body: '<html>Too Large</html>' };
  const answers = [proxy, proxy, results(created)];
  const texts = [tooLarge ?? '', next ?? '', other ?? ''];
  const { statuses, batches, trouble } = await delivered(texts, answers);
  expect(batches.map(({ length }) => length)).toEqual([3, 1, 1]);
  expect(statuses).toEqual(['again', 'again', 'stored']);
  expect(trouble).toMatchObject({ kind: 'refused', scope: 'tenants' });
});

/** A service behind a firewall that refuses some texts; what it stored, and its calls. */
function firewalled(isRefused: (text: string) => boolean, status = 403) {
  const stored: string[] = [];
  let calls = 0;
  const recordBatchTexts = async (texts: readonly string[]): Promise<BatchResult[]> => {
    calls += 1;
    if (texts.some(isRefused)) throw notTheService(status);
    return texts.map((text, index) => {
      if (stored.includes(text)) return { index, status: 'duplicate' };
      stored.push(text);
      return { index, status: 'created' };
    });
  };
  return { client: { recordBatchTexts }, stored, calls: () => calls };
}

const textOf = (tenantId: string, n: number, isBad = false) =>
  JSON.stringify({ tenantId, n, ...(isBad && { reason: '<script>' }) });
const isBad = (text: string) => text.includes('<script>');

test.each([200, 400, 403, 406, 422])(
  'an event that a firewall refuses with %i is rejected alone, once another one passes',
  async (status) => {
    const { client, stored } = firewalled(isBad, status);
    const texts = Array.from({ length: 20 }, (_, n) => textOf('a', n, n % 7 === 3));
    const { outcomes, trouble } = await deliverBatch(client, texts);
    expect(stored).toEqual(texts.filter((text) => !isBad(text)));
    const refused = { status: 'rejected', refusedBy: 'other', error: { status } };
    for (const [n, text] of texts.entries()) {
      expect(outcomes[n]).toMatchObject(isBad(text) ? refused : { status: 'stored' });
    }
    expect(trouble).toBeNull();
  },
);

test('whatever a firewall refuses, in the end all others are stored, once and in order, and none is lost', async () => {
  const event = fc.tuple(fc.constantFrom('a', 'b', ''), fc.boolean());
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 40 }), async (events) => {
      const { client, stored } = firewalled(isBad);
      const all = events.map(([tenant, bad], n) => textOf(tenant, n, bad));
      const rejected: string[] = [];
      for (let left = all; left.length > 0; ) {
        const { outcomes } = await deliverBatch(client, left);
        const now = left.filter((_, at) => outcomes[at]?.status === 'rejected');
        rejected.push(...now);
        left = left.filter((_, at) => outcomes[at]?.status === 'again');
        if (left.length > 0 && now.length === 0) left.push(textOf('c', 0));
      }
      expect(new Set(rejected)).toEqual(new Set(all.filter(isBad)));
      for (const tenant of ['a', 'b', '']) {
        const of = (texts: readonly string[]) =>
          texts.filter((text) => text.includes(`"tenantId":"${tenant}"`));
        expect(of(stored)).toEqual(of(all).filter((text) => !isBad(text)));
      }
    }),
  );
});

test('no event is rejected while everything is refused, and no attempt costs many calls', async () => {
  const { client, calls } = firewalled(() => true);
  const texts = Array.from({ length: 500 }, (_, n) => textOf(`${n % 40}`, n));
  const { outcomes, trouble } = await deliverBatch(client, texts);
  expect(outcomes.every(({ status }) => status === 'again')).toBe(true);
  expect(trouble).toMatchObject({ kind: 'refused', scope: 'all' });
  expect(calls()).toBeLessThan(45);
});

test('refusals that begin between two calls reject nothing', async () => {
  const { client } = firewalled(() => true);
  let isFirst = true;
  const turning: BatchClient = {
    recordBatchTexts: (texts) => {
      if (texts.length > 1 || !isFirst) return client.recordBatchTexts(texts);
      isFirst = false;
      return firewalled(() => false).client.recordBatchTexts(texts);
    },
  };
  const { outcomes, trouble } = await deliverBatch(
    turning,
    [0, 1, 2].map((n) => textOf('a', n)),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(['stored', 'again', 'again']);
  expect(trouble).toMatchObject({ kind: 'refused', scope: 'tenants' });
});

test('an outage of a proxy that ends between any two calls rejects nothing', async () => {
  const texts = Array.from({ length: 60 }, (_, n) => textOf(`${n % 3}`, n));
  for (let refusals = 0; refusals < 50; refusals += 1) {
    const proxy = firewalled(() => proxy.calls() <= refusals, 200);
    const { outcomes } = await deliverBatch(proxy.client, texts);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
  }
});

test('an outage that ends, and begins and ends again while suspects are sent again, rejects nothing', async () => {
  const texts = Array.from({ length: 60 }, (_, n) => textOf(`${n % 3}`, n));
  const call = fc.integer({ min: 1, max: 40 });
  await fc.assert(
    fc.asyncProperty(call, call, fc.integer({ min: 4, max: 40 }), async (end, pause, again) => {
      const proxy = firewalled(() => {
        const since = proxy.calls() - end - pause;
        return since <= -pause || (since > 0 && since <= again);
      });
      const { outcomes } = await deliverBatch(proxy.client, texts);
      expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
    }),
  );
});

test('while suspects are sent again, an outage rejects nothing and ends the attempt', async () => {
  for (let passes = 1; passes < 12; passes += 1) {
    const texts = Array.from({ length: 4 }, (_, n) => textOf('a', n, n < 2));
    let passed = 0;
    const { client } = firewalled(isBad);
    const failing: BatchClient = {
      recordBatchTexts: (sent) => {
        passed += 1;
        if (passed > passes) throw new UnreachableError('away');
        return client.recordBatchTexts(sent);
      },
    };
    const { outcomes, trouble } = await deliverBatch(failing, texts);
    const rejected = texts.filter((_, at) => outcomes[at]?.status === 'rejected');
    expect(rejected.filter((text) => !isBad(text))).toEqual([]);
    expect(passed).toBe(passes + 1);
    expect(trouble).toMatchObject({ kind: 'away', scope: 'all' });
  }
});

test('proxies of which some refuse everything, called in turn, reject nothing', async () => {
  const texts = Array.from({ length: 60 }, (_, n) => textOf(`${n % 3}`, n));
  for (const [proxies, working] of [
    [2, 0],
    [2, 1],
    [3, 0],
    [3, 1],
    [3, 2],
  ] as const) {
    const proxy = firewalled(() => proxy.calls() % proxies !== working);
    let left = texts;
    for (let attempt = 0; left.length > 0 && attempt < 1_000; attempt += 1) {
      const { outcomes } = await deliverBatch(proxy.client, left);
      expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
      left = left.filter((_, at) => outcomes[at]?.status === 'again');
    }
    expect(new Set(proxy.stored)).toEqual(new Set(texts));
  }
});

test('what a few tenants send by the hundred holds up no other', async () => {
  const { client, stored } = firewalled(isBad);
  const attack = Array.from({ length: 500 }, (_, n) => textOf(`${n % 3}`, n, true));
  const { trouble, outcomes } = await deliverBatch(client, attack);
  expect(outcomes.every(({ status }) => status === 'again')).toBe(true);
  expect(trouble?.scope).toBe('tenants');
  expect(stored).toEqual([]);
});

test('what one tenant sends by the hundred holds up no other', async () => {
  const { client, stored } = firewalled(isBad);
  const attack = Array.from({ length: 100 }, (_, n) => textOf('a', n, true));
  expect((await deliverBatch(client, attack)).trouble?.scope).toBe('tenants');
  const { outcomes } = await deliverBatch(client, [...attack, textOf('b', 1)]);
  expect(stored).toEqual([textOf('b', 1)]);
  expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
});

test('the end of a sender ends its calls, and each call leaves nothing at the signal', async () => {
  const sender = new AbortController();
  const seen: AbortSignal[] = [];
  const silent: BatchClient = {
    recordBatchTexts: (_, { signal } = {}) => {
      if (signal) seen.push(signal);
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
        if (signal?.aborted) reject(signal.reason);
      });
    },
  };
  const client = endedBy(sender.signal, silent);
  const [first, second] = [client.recordBatchTexts(['1']), client.recordBatchTexts(['2'])];
  sender.abort(new Error('the sender ends'));
  await expect(first).rejects.toThrow('the sender ends');
  await expect(second).rejects.toThrow('the sender ends');
  await expect(client.recordBatchTexts(['3'])).rejects.toThrow('the sender ends');
  expect(seen).toHaveLength(3);
  expect(seen).not.toContain(sender.signal);
  expect(getEventListeners(sender.signal, 'abort')).toEqual([]);
});

test('a call that has no answer in time ends, and its events are sent again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const silent: BatchClient = {
    recordBatchTexts: (_, { signal } = {}) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
  };
  const client = endedBy(new AbortController().signal, silent, 30_000);
  const delivered = deliverBatch(client, ['1']);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await delivered).toMatchObject({
    outcomes: [{ status: 'again' }],
    trouble: { kind: 'away', scope: 'all' },
  });
});
