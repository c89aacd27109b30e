import { type CallFailure, callFailures, hostNotCalled } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { failureText, restoreFailure } from './failure-text.ts';
import { languages } from './languages.ts';
import { textsIn } from './texts.ts';

const { failures } = textsIn('de', await languages.de.load()).panel.webhooks;
const said = (status: number | null, reason: string) => failureText(failures, status, reason);

test('every failure without an answer is said in the reader’s language', () => {
  for (const [name, clause] of Object.entries(callFailures)) {
    const text = failures[name as CallFailure];
    expect(said(null, clause)).toEqual({ text, words: null });
  }
  expect(said(null, 'there was no answer within 10 s').text).toBe(
    'Keine Antwort innerhalb von 10 s',
  );
  expect(said(null, 'of a later version').words).toBe('of a later version');
});

test.each([
  [500, 'the receiver answered 500', 'Der Empfänger hat mit 500 geantwortet'],
  [302, 'the receiver answered 302, and redirects are not followed', /leitet den Aufruf um/],
  [
    410,
    'the receiver answered 410: it accepts no more messages',
    /nimmt keine Nachrichten mehr an/,
  ],
  [429, 'Slack asks for fewer messages (429)', /verlangt weniger Nachrichten \(429\)/],
  [502, 'Datadog answered 502', 'Der Empfänger hat mit 502 geantwortet'],
  [200, 'the server at this address is not Splunk (200)', /nicht angenommen/],
])('an answer %i is said in the reader’s language', (status, reason, text) => {
  expect(said(status, reason)).toEqual({ text: expect.stringMatching(text), words: null });
});

test('a problem that only the receiver can name stays beside its field', () => {
  const reason = 'Splunk does not know the index (code 7): invalid-event-number 0';
  expect(said(400, reason)).toMatchObject({ words: reason });
});

test.each([
  [`${hostNotCalled}the connection was refused`, 'Der Empfänger hat die Verbindung abgelehnt'],
  [`${hostNotCalled}there was no answer within 10 s`, 'Keine Antwort innerhalb von 10 s'],
  ['the host product answered 500', 'Der Empfänger hat mit 500 geantwortet'],
  [callFailures.restoreUrlLost, /keine restoreUrl mehr/],
  [callFailures.answerUnclear, /weder „applied“ noch „refused“/],
  ['of a later version', 'of a later version'],
])('the reason of a restore, %s, is said in the reader’s language', (reason, text) => {
  expect(restoreFailure(failures, reason)).toEqual(expect.stringMatching(text));
});
