import type { Webhook } from '@indelible/client';
import { expect, test } from 'vitest';
import { conditionOf, nextLookMs } from './condition.ts';

const nowMs = Date.UTC(2026, 4, 4);
const webhook = (changes: Partial<Webhook>): Webhook => ({
  id: 'whk_1',
  name: null,
  url: 'https://example.com/',
  format: 'webhook',
  types: [],
  filters: {},
  options: {},
  hasCredential: false,
  headerNames: [],
  status: 'active',
  pausedBecause: null,
  nextSequence: 7,
  behind: 0,
  attempt: 0,
  nextAttemptAt: null,
  lastDelivery: null,
  previousSecretValidUntil: null,
  createdAt: '',
  updatedAt: '',
  ...changes,
});
const failing = (inMs: number) =>
  webhook({ behind: 3, attempt: 2, nextAttemptAt: new Date(nowMs + inMs).toISOString() });

test('a webhook that failed is not said to be sending, and one that was given up not to be paused', () => {
  expect(conditionOf(webhook({}))).toBe('current');
  expect(conditionOf(webhook({ behind: 1 }))).toBe('behind');
  expect(conditionOf(failing(5_000))).toBe('failing');
  const paused = { status: 'paused', behind: 9, attempt: 8 } as const;
  expect(conditionOf(webhook({ ...paused, pausedBecause: 'requested' }))).toBe('paused');
  expect(conditionOf(webhook({ ...paused, pausedBecause: 'failing' }))).toBe('stopped');
});

test('recipients who unsubscribed are told apart from those who never answered, also after a test of either', () => {
  const test = (responseStatus: number) => ({ responseStatus }) as Webhook['lastDelivery'];
  const paused = { status: 'paused', pausedBecause: 'failing', behind: 9 } as const;
  for (const lastDelivery of [test(410), test(204), null]) {
    expect(conditionOf(webhook({ ...paused, attempt: 1, lastDelivery }))).toBe('gone');
    expect(conditionOf(webhook({ ...paused, attempt: 8, lastDelivery }))).toBe('stopped');
    // Of the message that is due now nothing is known yet: it was made anew.
    expect(conditionOf(webhook({ ...paused, attempt: 0, lastDelivery }))).toBe('stopped');
  }
});

test('a page asks again while something is under way, soon after the next attempt, and else never', () => {
  expect(nextLookMs(webhook({}), nowMs)).toBeNull();
  expect(nextLookMs(webhook({ status: 'paused', behind: 3 }), nowMs)).toBeNull();
  expect(nextLookMs(webhook({ behind: 3 }), nowMs)).toBe(2_000);
  expect(nextLookMs(failing(5_000), nowMs)).toBe(6_000);
  expect(nextLookMs(failing(-5_000), nowMs)).toBe(2_000);
  expect(nextLookMs(failing(36_000_000), nowMs)).toBeNull();
});
