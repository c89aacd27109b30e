import type { AlertRule } from '@indelible/client';
import { expect, test } from 'vitest';
import { builtInInputOf, draftOf, inputOf, isComplete, newRule } from './rule-draft.ts';

const rule: AlertRule = {
  id: 'x',
  builtIn: null,
  recommended: false,
  version: 1,
  dropped: 0,
  enabled: true,
  notify: {},
  awaitingConfirmation: [],
  name: 'Downloads',
  kind: 'threshold',
  filters: { action: ['download', '!play'] },
  count: 5,
  windowMinutes: 10,
  groupBy: 'actor',
  mutedUntil: null,
  createdAt: null,
  updatedAt: null,
};

test('a rule that is only looked at is sent as it was', () => {
  const { name, kind, filters, count, windowMinutes, groupBy, notify } = rule;
  const draft = draftOf(rule);
  const same = { name, kind, filters, count, windowMinutes, groupBy, notify };
  expect(inputOf(draft)).toEqual({ ...same, followedBy: {} });
  const followedBy = { action: ['login'] };
  expect(inputOf(draftOf({ ...rule, followedBy }))).toEqual({ ...same, followedBy });
  expect(builtInInputOf(draft)).toEqual({ count, windowMinutes, notify });
  for (const told of [{ emails: [] }, { emails: ['a@b.example'], webhookIds: ['whk_1'] }]) {
    expect(inputOf(draftOf({ ...rule, notify: told })).notify).toEqual(told);
  }
  expect(inputOf({ ...draft, groupBy: '' }).groupBy).toBeNull();
  expect(isComplete(draft)).toBe(true);
});

test('members that another kind has not are not sent', () => {
  expect(inputOf({ ...draftOf(rule), kind: 'match' })).toEqual({
    name: 'Downloads',
    kind: 'match',
    filters: { action: ['download', '!play'] },
    notify: {},
  });
});

test('addresses are taken as people type them; without one the tenant is told', () => {
  const notifyOf = (emails: string) => inputOf({ ...newRule, emails }).notify;
  expect(notifyOf(' a@b.example,c@d.example;\n a@b.example ')).toEqual({
    emails: ['a@b.example', 'c@d.example'],
  });
  expect(notifyOf(' , ')).toEqual({});
});

test('a rule without what its kind needs, or with a number out of range, cannot be saved', () => {
  const draft = draftOf(rule);
  const { limits } = draft;
  expect(isComplete(newRule)).toBe(false);
  expect(isComplete({ ...draft, limits: { ...limits, count: '1' } })).toBe(false);
  expect(isComplete({ ...draft, limits: { ...limits, count: '' } })).toBe(false);
  expect(isComplete({ ...draft, limits: { ...limits, windowMinutes: '1.5' } })).toBe(false);
  expect(isComplete({ ...draft, kind: 'first_seen', groupBy: '' })).toBe(false);
  expect(isComplete({ ...draft, kind: 'first_seen', groupBy: 'ip' })).toBe(true);
});
