import type { Webhook } from '@indelible/client';
import { expect, test } from 'vitest';
import { draftOf, emptyDraft, inFormat, inputOf, keepsCredential, newHeader } from './draft.ts';

const stored = {
  name: 'SIEM',
  url: 'https://splunk.example.com/',
  format: 'splunk_hec',
  types: ['audit.events.recorded'],
  options: { index: 'audit' },
  hasCredential: true,
  headerNames: ['x-key', 'x-team'],
  filters: { action: ['delete', '!list'], category: ['security'] },
} as unknown as Webhook;

test('stored values come back as they were, and an untouched credential is not sent', () => {
  const { name, url, format, types, filters, options } = stored;
  const expected = { name, url, format, types, filters, options };
  expect(inputOf(draftOf(stored))).toEqual(expected);
});

test('own headers are kept, replaced, removed and added, and a row left empty is none', () => {
  const draft = draftOf(stored);
  expect(inputOf(draft)).not.toHaveProperty('headers');
  const [key, team] = draft.headers;
  if (!key || !team) throw new Error('a stored header has no row');
  const added = { ...newHeader(draft.headers), name: ' X-Region ', value: ' eu ' };
  const headers = [{ ...key, value: 'new' }, { ...team, isRemoved: true }, added];
  const all = [...headers, newHeader(headers), { ...newHeader(headers), name: 'x-no-value' }];
  expect(inputOf({ ...draft, headers: all }).headers).toEqual({
    'x-key': 'new',
    'x-team': null,
    'X-Region': 'eu',
    'x-no-value': '',
  });
});

test('an emptied field is sent empty, and fields of another format are not sent', () => {
  const emptied = { ...draftOf(stored), name: ' ', filters: {}, options: { index: '' } };
  expect(inputOf(emptied)).toMatchObject({ name: null, filters: {}, options: {} });
  const webhook = { ...draftOf(stored), format: 'webhook', credential: 'left over' } as const;
  expect(inputOf(webhook)).not.toHaveProperty('credential');
  expect(inputOf(webhook).options).toEqual({});
  const types = ['audit.export.ready', 'audit.events.recorded'];
  const typed = inputOf({ ...emptyDraft, types }).types;
  expect(typed).toEqual(['audit.events.recorded', 'audit.export.ready']);
  expect(inputOf({ ...draftOf(stored), types }).types).toEqual(['audit.events.recorded']);
});

test('a credential is given anew, kept, or forgotten', () => {
  const draft = { ...emptyDraft, format: 'elastic' } as const;
  expect(inputOf({ ...draft, credential: ' key ' })).toMatchObject({ credential: 'key' });
  expect(inputOf(draft)).not.toHaveProperty('credential');
  expect(inputOf({ ...draft, forgetCredential: true })).toMatchObject({ credential: null });
});

test('a credential that was entered for one receiver does not go to that of another format', () => {
  const entered = { ...emptyDraft, ...inFormat('splunk_hec'), credential: 'a token of Splunk' };
  const input = inputOf({ ...entered, ...inFormat('elastic') });
  expect(input.format).toBe('elastic');
  expect(input).not.toHaveProperty('credential');
});

test('a stored credential is kept for its own receiver and format alone', () => {
  const draft = draftOf(stored);
  expect(keepsCredential(draft, stored)).toBe(true);
  expect(keepsCredential({ ...draft, url: 'https://splunk.example.com/other' }, stored)).toBe(true);
  expect(keepsCredential({ ...draft, url: 'https://else.example.com/' }, stored)).toBe(false);
  expect(keepsCredential({ ...draft, format: 'datadog' }, stored)).toBe(false);
  expect(keepsCredential(draft, null)).toBe(false);
});
