import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { BatchResult } from '../api-types.ts';
import { newEventId } from '../event/outgoing-event.ts';
import { IndelibleError, notTheService, UnreachableError } from '../http/errors.ts';
import { createClient } from '../index.ts';
import { type Answer, scriptedService } from '../testing/scripted-service.ts';
import { type BatchClient, deliverBatch, emptyMemory, endedBy } from './deliver-batch.ts';

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
/** The error that the client makes of this problem. */
const problemOf = (status: number, code: 'internal_error') =>
  new IndelibleError({ status, code, detail: 'why', requestId: null });
const problem = (status: number, code: string): Answer => ({
  status,
  body: { code, detail: 'why' },
});

test('an event stored before counts as stored, a refused one as rejected, each with its reason', async () => {
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
  expect(trouble).toMatchObject({ scope: 'all', error: { code: 'unauthenticated' } });
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

test('no half of a batch overtakes events that have to be sent again', async () => {
  const answers = [problem(413, 'payload_too_large'), { hangUp: true }, { hangUp: true }];
  const { statuses, batches, trouble } = await delivered(
    ['1', '2'],
    [...answers, results(created)],
  );
  expect(statuses).toEqual(['again', 'again']);
  expect(batches).toEqual([[1, 2], [1], []]);
  expect(trouble?.kind).toBe('away');
});

test('where the logs of some tenants take nothing, those of the others get theirs', async () => {
  const [stuck, other] = ['a', 'b'].map((tenantId) => JSON.stringify({ tenantId }));
  const answers = [
    problem(413, 'payload_too_large'),
    problem(503, 'unavailable'),
    results(created),
  ];
  const texts = [stuck ?? '', stuck ?? '', stuck ?? '', other ?? ''];
  const { statuses, batches, trouble } = await delivered(texts, answers);
  expect(batches.map(({ length }) => length)).toEqual([4, 2, 1]);
  expect(statuses).toEqual(['again', 'again', 'again', 'stored']);
  expect(trouble).toMatchObject({ kind: 'away', scope: 'tenants' });
});

/**
 * A service behind a firewall that answers some batches with an error; what the service stored, and
 * the calls. Without events, the service answers `[]`.
 */
function firewalled(isRefused: (texts: readonly string[]) => boolean, error = notTheService(403)) {
  const stored: string[] = [];
  let calls = 0;
  const recordBatchTexts = async (texts: readonly string[]): Promise<BatchResult[]> => {
    calls += 1;
    if (isRefused(texts)) throw error;
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
const hasBad = (texts: readonly string[]) => texts.some(isBad);
const textsOf = (count: number, tenants: number) =>
  Array.from({ length: count }, (_, n) => textOf(`${n % tenants}`, n));

test.each([400, 401, 403, 404, 406, 413, 422, 451])(
  'an event for whose content a firewall answers %i is rejected alone, and no other',
  async (status) => {
    const { client, stored } = firewalled(hasBad, notTheService(status));
    const texts = Array.from({ length: 20 }, (_, n) => textOf('a', n, n % 7 === 3));
    const { outcomes, trouble } = await deliverBatch(client, texts);
    expect(stored).toEqual(texts.filter((text) => !isBad(text)));
    const refused = { status: 'rejected', refusedBy: 'other' };
    for (const [n, text] of texts.entries()) {
      expect(outcomes[n]).toMatchObject(isBad(text) ? refused : { status: 'stored' });
    }
    expect(trouble).toBeNull();
  },
);

const dayMs = 24 * 3_600_000;

test.each([
  ['a firewall cuts the connection', new UnreachableError('read ECONNRESET')],
  ['no answer comes', new UnreachableError('late', { cause: { name: 'TimeoutError' } })],
  ...[408, 429, 500, 502, 503, 504].map((status): [string, Error] => [
    `a proxy answers ${status}`,
    notTheService(status),
  ]),
  ['the service crashes', problemOf(500, 'internal_error')],
])('an event for which %s waits with its tenant, and is rejected after a day', async (_, error) => {
  const { client, stored } = firewalled(hasBad, error as IndelibleError);
  const memory = emptyMemory();
  const texts = [textOf('a', 0, true), textOf('a', 1), textOf('b', 2), textOf('a', 3, true)];
  for (const nowMs of [0, dayMs]) {
    const { outcomes, trouble } = await deliverBatch(client, texts, memory, nowMs);
    expect(outcomes.map(({ status }) => status)).toEqual(['again', 'again', 'stored', 'again']);
    expect(trouble).toMatchObject({ kind: 'away', scope: 'tenants' });
  }
  const { outcomes, trouble } = await deliverBatch(client, texts, memory, dayMs + 1);
  const refused = { status: 'rejected', refusedBy: 'other' };
  expect(outcomes).toMatchObject([refused, { status: 'stored' }, { status: 'stored' }, refused]);
  expect([stored, trouble]).toEqual([[texts[2], texts[1]], null]);
  expect(memory).toMatchObject({ refused: new Map(), failing: new Map() });
});

test('a log that takes nothing for a day holds up its events no longer, until it takes one', async () => {
  const stuck = new Set(['a']);
  const isStuck = (text: string) => stuck.has(JSON.parse(text).tenantId);
  const unavailable = { code: 'unavailable', detail: 'the log is damaged' } as const;
  const client: BatchClient = {
    async recordBatchTexts(texts) {
      if (texts.every(isStuck)) throw problemOf(503, 'unavailable' as 'internal_error');
      return texts.map((text, index) =>
        isStuck(text)
          ? { index, status: 'rejected', error: unavailable }
          : { index, status: 'created' },
      );
    },
  };
  const memory = emptyMemory();
  const sent = async (tenants: string, nowMs: number) => {
    const texts = [...tenants].map((tenant, n) => textOf(tenant, n));
    const { outcomes } = await deliverBatch(client, texts, memory, nowMs);
    return outcomes.map(({ status }) => status);
  };
  expect(await sent('a', 0)).toEqual(['again']);
  expect(await sent('ab', 1)).toEqual(['again', 'stored']);
  expect(await sent('a', dayMs + 1)).toEqual(['again']);
  expect(await sent('a', dayMs + 2)).toEqual(['rejected']);
  expect(await sent('aba', dayMs + 3)).toEqual(['rejected', 'stored', 'rejected']);
  stuck.clear();
  expect(await sent('a', dayMs + 4)).toEqual(['stored']);
  stuck.add('a');
  expect(await sent('ab', dayMs + 5)).toEqual(['again', 'stored']);
});

test('a refused event that is alone waits until another one has passed, and is rejected then', async () => {
  const memory = emptyMemory();
  const { client } = firewalled(hasBad);
  const refused = [textOf('a', 2, true)];
  for (let times = 0; times < 3; times += 1) {
    const before = await deliverBatch(client, refused, memory);
    expect(before).toMatchObject({
      outcomes: [{ status: 'again' }],
      trouble: { scope: 'tenants' },
    });
  }
  await deliverBatch(client, [textOf('a', 1)], memory);
  const { outcomes, trouble } = await deliverBatch(client, refused, memory);
  expect(outcomes).toMatchObject([{ status: 'rejected', refusedBy: 'other' }]);
  expect(trouble).toBeNull();
});

test('behind a refused event that is the very first, the others keep their order', async () => {
  const { client, stored } = firewalled(hasBad);
  const good = textsOf(60, 2);
  const bad = [textOf('0', 100, true), textOf('0', 101, true)];
  const { outcomes } = await deliverBatch(client, [...bad, ...good]);
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(2);
  expect(stored).toEqual(good);
});

test('a gateway that limits the rate of calls does not keep a refused event from being found', async () => {
  let [calls, untilMs] = [0, 0];
  const isOverLimit = () => {
    if (performance.now() > untilMs) [calls, untilMs] = [0, performance.now() + 50];
    calls += 1;
    return calls > 12;
  };
  const { client, stored } = firewalled((texts) => isOverLimit() || hasBad(texts));
  const texts = [textOf('a', 0, true), ...textsOf(7, 1)];
  const memory = emptyMemory();
  let left = texts;
  for (let attempt = 0; left.length > 0 && attempt < 10; attempt += 1) {
    const { outcomes } = await deliverBatch(client, left, memory);
    left = left.filter((_, at) => outcomes[at]?.status === 'again');
    untilMs = 0; // a sender waits longer between two attempts
  }
  expect(left).toEqual([]);
  expect(stored).toEqual(texts.slice(1));
});

test('a hundred refused events in a row, also the first ones, hold up nothing', async () => {
  const { client, stored } = firewalled(hasBad);
  const attack = Array.from({ length: 100 }, (_, n) => textOf('a', n, true));
  const texts = [...attack, ...textsOf(100, 3)];
  const memory = emptyMemory();
  for (let left = texts; left.length > 0; ) {
    const { outcomes } = await deliverBatch(client, left, memory);
    left = left.filter((_, at) => outcomes[at]?.status === 'again');
  }
  expect(stored.toSorted()).toEqual(textsOf(100, 3).toSorted());
});

test('whatever a firewall does with some events, and whatever fails meanwhile, only these are set aside, and the others are stored once and in order', async () => {
  const unavailable = { status: 503, code: 'unavailable', detail: '', requestId: null } as const;
  const failures = new Map<string, Error>([
    ['refused', notTheService(403)],
    ['failing', notTheService(502)],
    ['cut', new UnreachableError('read ECONNRESET')],
  ]);
  const weather = fc.constantFrom(null, null, new UnreachableError('away'), unavailable);
  const kind = fc.constantFrom('good', 'good', 'good', ...failures.keys());
  const event = fc.tuple(fc.constantFrom('a', 'b', 'c'), kind);
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { minLength: 1, maxLength: 30 }),
      fc.array(weather, { maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      async (events, outages, batchMax) => {
        const stored: string[] = [];
        const recordBatchTexts = async (texts: readonly string[]): Promise<BatchResult[]> => {
          const outage = outages.shift() ?? null;
          if (outage !== null) throw 'code' in outage ? new IndelibleError(outage) : outage;
          const kinds = texts.map((text) => JSON.parse(text).kind);
          const failure = failures.get(kinds.find((each) => failures.has(each)) ?? '');
          if (failure !== undefined) throw failure;
          stored.push(...texts);
          return texts.map((_, index) => ({ index, status: 'created' }));
        };
        const texts = events.map(([tenantId, kind], n) => JSON.stringify({ tenantId, n, kind }));
        const isGood = (text: string) => text.includes('good');
        const memory = emptyMemory();
        const setAside: string[] = [];
        let left = texts;
        for (let nowMs = 0; left.length > 0; nowMs += dayMs / 10) {
          const batch = left.slice(0, batchMax);
          const delivery = await deliverBatch({ recordBatchTexts }, batch, memory, nowMs);
          const ofStatus = (status: string) =>
            batch.filter((_, at) => delivery.outcomes[at]?.status === status);
          expect(delivery.trouble === null).toBe(ofStatus('again').length === 0);
          setAside.push(...ofStatus('rejected'));
          left = [...ofStatus('again'), ...left.slice(batchMax)];
        }
        expect(setAside.filter(isGood)).toEqual([]);
        for (const tenant of ['a', 'b', 'c']) {
          const of = (all: readonly string[]) =>
            all.filter((text) => text.includes(`"tenantId":"${tenant}"`));
          expect(of(stored)).toEqual(of(texts).filter(isGood));
        }
      },
    ),
    { numRuns: 40 },
  );
});

test('a firewall that refuses every event, but not a call without one, makes them wait', async () => {
  const { client, calls } = firewalled((texts) => texts.length > 0);
  const memory = emptyMemory();
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const { outcomes, trouble } = await deliverBatch(client, textsOf(500, 40), memory);
    expect(outcomes.every(({ status }) => status === 'again')).toBe(true);
    expect(trouble?.kind).toBe('refused');
  }
  expect(calls()).toBeLessThan(150);
});

test('an outage costs two calls an attempt, keeps all, and waits for all', async () => {
  const { client, calls } = firewalled(() => true, new UnreachableError('away') as never);
  const { outcomes, trouble } = await deliverBatch(client, textsOf(500, 40));
  expect(outcomes.every(({ status }) => status === 'again')).toBe(true);
  expect(trouble).toMatchObject({ kind: 'away', scope: 'all' });
  expect(calls()).toBe(2);
});

test.each([
  ['ends between any two calls', (call: number, n: number) => call <= n % 50],
  ['begins between any two calls', (call: number, n: number) => call > n % 50],
  ['ends, begins and ends again', (call: number, n: number) => ((call + n) >> (n % 5)) % 3 > 0],
  ['is of one of two proxies, called in turn', (call: number, n: number) => (call + n) % 2 > 0],
  ['is of two of three', (call: number, n: number) => (call + n) % 3 > 0],
  ['is of one of three', (call: number, n: number) => (call + n) % 3 > 1],
  ['is of any half of all calls', () => Math.random() < 0.5],
] as const)('an outage that %s rejects nothing, and keeps the order', async (_, fails) => {
  for (let n = 0; n < 20; n += 1) {
    const proxy = firewalled(() => fails(proxy.calls(), n), notTheService(502));
    const memory = emptyMemory();
    const texts = textsOf(60, 3);
    let left = texts;
    for (let attempt = 0; left.length > 0 && attempt < 100; attempt += 1) {
      const { outcomes } = await deliverBatch(proxy.client, left, memory);
      expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
      left = left.filter((_, at) => outcomes[at]?.status === 'again');
    }
    for (const tenant of ['0', '1', '2']) {
      const of = (all: readonly string[]) => all.filter((text) => text.includes(`":"${tenant}"`));
      const stored = of(proxy.stored);
      expect(stored).toEqual(of(texts).slice(0, stored.length));
    }
  }
});

test('an outage that lets calls without events pass rejects nothing, whenever it ends', async () => {
  for (let n = 0; n < 60; n += 1) {
    const proxy = firewalled((texts) => texts.length > 0 && proxy.calls() <= n);
    const { outcomes } = await deliverBatch(proxy.client, textsOf(20, 3));
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
  }
});

test('the end of a sender ends its calls, and each call leaves nothing at the signal', async () => {
  const sender = new AbortController();
  const seen: AbortSignal[] = [];
  const silent: BatchClient = {
    recordBatchTexts: (_, { signal } = {}) => {
      if (signal) seen.push(signal);
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    },
  };
  const client = endedBy(sender.signal, silent);
  const [first, second] = [client.recordBatchTexts(['1']), client.recordBatchTexts(['2'])];
  sender.abort(new Error('the sender ends'));
  await expect(first).rejects.toThrow('the sender ends');
  await expect(second).rejects.toThrow('the sender ends');
  await expect(client.recordBatchTexts(['3'])).rejects.toThrow('the sender ends');
  expect(seen).toHaveLength(2);
  expect(seen).not.toContain(sender.signal);
  expect(getEventListeners(sender.signal, 'abort')).toEqual([]);
});

test('a call of a sender, which repeats it itself, is one attempt', async () => {
  const { url, received, close } = await scriptedService([{ hangUp: true }]);
  onTestFinished(close);
  const client = createClient({ url, key: 'idl_x' });
  const sender = endedBy(new AbortController().signal, client);
  await expect(sender.recordBatchTexts(['1'])).rejects.toThrow(UnreachableError);
  expect(received).toHaveLength(1);
});
