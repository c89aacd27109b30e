import fc from 'fast-check';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { send } from '../../testing/http-receiver.ts';
import { splunkHec } from './splunk-hec.ts';
import {
  batchOf,
  eventText,
  eventTextsArbitrary,
  hugeDiff,
  parsed,
} from './testing/event-texts.ts';
import { splunkReceiver } from './testing/splunk-receiver.ts';

const splunk = await splunkReceiver();
afterAll(splunk.close);
const fresh = { enabled: true, wantsChannel: false, busy: false };
beforeEach(() => Object.assign(splunk, fresh, { events: [] }));

const targetOf = (changes: object = {}) => {
  return { url: splunk.url, credential: splunk.token, options: {}, ...changes };
};

async function deliver(events: readonly string[], changes: object = {}) {
  const { status, text } = await send(splunkHec.deliver(targetOf(changes), batchOf(events)));
  return splunkHec.judge(status, text);
}

async function health(changes: object = {}) {
  const { status, text } = await send(splunkHec.health(targetOf(changes)));
  return splunkHec.judgeHealth(status, text);
}

test('Splunk holds each event whole, in order, at its own millisecond', async () => {
  const events = [eventText(0), eventText(1, { diff: hugeDiff }), eventText(2)];
  expect(await deliver(events)).toEqual({ ok: true });
  expect(splunk.events.map(({ event }) => event)).toEqual(parsed(events));
  expect(splunk.events.map(({ time }) => time)).toEqual([
    1757579400.007, 1757579401.007, 1757579402.007,
  ]);
});

test('an event with any content arrives in Splunk as it was recorded', async () => {
  await fc.assert(
    fc.asyncProperty(eventTextsArbitrary, async (events) => {
      splunk.events = [];
      expect(await deliver(events)).toEqual({ ok: true });
      expect(splunk.events.map(({ event }) => event)).toEqual(parsed(events));
    }),
  );
});

test('host, source, source type and index are the ones chosen; unchosen, host and index stay Splunk’s', async () => {
  await deliver([eventText(0)]);
  const chosen = {
    host: 'eu-1 "a"',
    source: 'contact\\center',
    sourcetype: 'audit',
    index: 'audit',
  };
  await deliver([eventText(0)], { options: chosen });
  const [unchosen, own] = splunk.events;
  expect(unchosen).toMatchObject({ source: 'indelible', sourcetype: 'indelible:audit' });
  expect(unchosen).not.toHaveProperty('host');
  expect(own).toMatchObject(chosen);
});

test.each([
  '',
  '/',
  '/services',
  '/services/collector',
  '/services/collector/event/',
  '/services/collector/raw',
])('the URL may be entered with the path %s', async (path) => {
  expect(await deliver([eventText(0)], { url: `${splunk.url}${path}` })).toEqual({ ok: true });
  expect(await health({ url: `${splunk.url}${path}` })).toEqual({ ok: true });
});

test('the path of a proxy stays in front', () => {
  const { url } = splunkHec.deliver(
    targetOf({ url: 'https://p.example/splunk/services' }),
    batchOf([]),
  );
  expect(url).toBe('https://p.example/splunk/services/collector/event');
});

test('a wrong or disabled token is refused, and the reason does not repeat it', async () => {
  const credential = 'a-token-that-nobody-knows';
  expect(await deliver([eventText(0)], { credential })).toEqual({
    ok: false,
    reason: 'Splunk does not know the token (code 4)',
  });
  expect(await health({ credential })).toMatchObject({
    reason: 'Splunk does not know the token (code 21)',
  });
  splunk.enabled = false;
  const disabled = await deliver([eventText(0)]);
  expect(disabled).toMatchObject({ reason: 'Splunk says that the token is disabled (code 1)' });
});

test('a busy Splunk takes the same message later, once', async () => {
  splunk.busy = true;
  expect(await deliver([eventText(0)])).toEqual({
    ok: false,
    reason: 'Splunk is busy (code 9)',
  });
  expect(await health()).toMatchObject({ ok: false });
  splunk.busy = false;
  expect(await deliver([eventText(0)])).toEqual({ ok: true });
  expect(splunk.events).toHaveLength(1);
});

test('a forbidden index and a wanted data channel are reasons that say what to change', async () => {
  expect(await deliver([eventText(0)], { options: { index: 'secret' } })).toEqual({
    ok: false,
    reason: 'Splunk does not let the token write to this index (code 7) at event 0 of the message',
  });
  splunk.wantsChannel = true;
  const { reason } = { reason: '', ...(await deliver([eventText(0)])) };
  expect(reason).toContain('turn indexer acknowledgement off for this token');
});

test.each([
  [200, '{"text":"HEC queue is approaching its capacity limit","code":24}', true],
  [500, '{"text":"Internal server error","code":8}', false],
  [429, '{"text":"HEC queue is at capacity","code":26}', false],
  [400, '{"text":"Invalid data format","code":6}', false],
  [200, '{"text":"Something new","code":99}', false],
  [503, '<html>no healthy upstream</html>', false],
  [200, '<html>Welcome</html>', false],
  [302, '', false],
])('an answer %d %s is a success: %s', (status, text, ok) => {
  expect(splunkHec.judge(status, text)).toMatchObject({ ok });
});

test('an unknown code is told as that of Splunk, an answer without one as that of another server', () => {
  const reasonOf = (text: string) => splunkHec.judge(200, text);
  expect(reasonOf('{"code":99}')).toMatchObject({ reason: 'Splunk answered 200 (code 99)' });
  const foreign = 'the server at this address is not Splunk (200)';
  expect(reasonOf('<html>Welcome</html>')).toMatchObject({ reason: foreign });
});

test('a credential with a line break, a space or its scheme is refused, and never becomes a header', () => {
  for (const credential of ['a\r\nX-Evil: 1', 'a\nb', 'Splunk abc', 'a b', '', ' a', 'é']) {
    expect(splunkHec.credentialProblem(credential)).toEqual(expect.any(String));
    expect(() => splunkHec.deliver(targetOf({ credential }), batchOf([]))).toThrow(RangeError);
    expect(() => splunkHec.health(targetOf({ credential }))).toThrow(RangeError);
  }
  expect(splunkHec.credentialProblem(splunk.token)).toBeNull();
});

test('a token in the URL is refused, because every proxy can see it', () => {
  expect(splunkHec.urlProblem(`${splunk.url}/services/collector?token=abc`)).toContain(
    'credential',
  );
  expect(splunkHec.urlProblem(`${splunk.url}#a`)).toContain('fragment');
  expect(splunkHec.urlProblem(splunk.url)).toBeNull();
});

test('options are refused with what is wrong with them', () => {
  expect(splunkHec.options.index?.('Audit')).toContain('index');
  expect(splunkHec.options.index?.('audit_eu-1')).toBeNull();
  expect(splunkHec.options.host?.('a\nb')).toBe('holds control characters');
  expect(splunkHec.options.source?.('a'.repeat(256))).toBe('is longer than 255 characters');
});
