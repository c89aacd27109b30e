import { type CallFailure, callFailures, hostNotCalled } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { textsIn } from '../../../../../locales/texts.ts';
import { languages } from '../../i18n/languages.ts';
import { failureText, restoreFailure } from './failure.tsx';

const { webhooks } = textsIn('de', await languages.de.load()).panel;
const said = (status: number | null, reason: string) => failureText(webhooks, status, reason);

test('every failure without an answer is said in the reader’s language', () => {
  for (const [name, clause] of Object.entries(callFailures)) {
    const text = webhooks.failures[name as CallFailure];
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

test('what only the receiver can say stays beside it', () => {
  const reason = 'Splunk does not know the index (code 7): invalid-event-number 0';
  expect(said(400, reason)).toMatchObject({ words: reason });
});

test.each([
  [`${hostNotCalled}the connection was refused`, 'Der Empfänger hat die Verbindung abgelehnt'],
  [`${hostNotCalled}there was no answer within 10 s`, 'Keine Antwort innerhalb von 10 s'],
  ['the host product answered 500', 'Der Empfänger hat mit 500 geantwortet'],
  ['the tenant has no restore URL any more', 'the tenant has no restore URL any more'],
])('the reason of a failed restore, %s, is said in the reader’s language', (reason, text) => {
  expect(restoreFailure(webhooks, reason)).toBe(text);
});
