import { afterAll, beforeEach, expect, test } from 'vitest';
import { splunkHec } from './splunk-hec.ts';
import { batchOf, eventText } from './testing/event-texts.ts';
import { exchangeOf } from './testing/exchange.ts';
import { splunkReceiver } from './testing/splunk-receiver.ts';

const splunk = await splunkReceiver();
afterAll(splunk.close);
const fresh = { enabled: true, wantsChannel: false, busy: false };
beforeEach(() => Object.assign(splunk, fresh, { events: [] }));

const { targetOf, deliver, health } = exchangeOf(splunkHec, () => {
  return { url: splunk.url, credential: splunk.token, options: {} };
});

test('each event stands at its own millisecond', async () => {
  await deliver([eventText(0), eventText(1), eventText(2)]);
  expect(splunk.events.map(({ time }) => time)).toEqual([
    1757579400.007, 1757579401.007, 1757579402.007,
  ]);
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
  ...['', '/', '/services', '/services/collector', '/services/collector/event/'],
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

test('a disabled token is refused', async () => {
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

test('an unknown code is told as that of Splunk, an answer without one as that of another server', () => {
  const reasonOf = (text: string) => splunkHec.judge(200, text);
  expect(reasonOf('{"code":99}')).toMatchObject({ reason: 'Splunk answered 200 (code 99)' });
  const foreign = 'the server at this address is not Splunk (200)';
  expect(reasonOf('<html>Welcome</html>')).toMatchObject({ reason: foreign });
});

test('a token in the URL is refused, because every proxy can see it', () => {
  expect(splunkHec.urlProblem(`${splunk.url}/services/collector?token=abc`)).toContain(
    'credential',
  );
  expect(splunkHec.urlProblem(`${splunk.url}#a`)).toContain('fragment');
  expect(splunkHec.urlProblem(splunk.url)).toBeNull();
});
