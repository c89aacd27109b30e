import type { Webhook } from '@indelible/client';
import { expect, test } from 'vitest';
import { conditionOf, nextLookMs } from './condition.ts';

const nowMs = Date.UTC(2026, 4, 4);
const webhook = (changes: Partial<Webhook>): Webhook => ({
  ...{ id: 'whk_1', name: null, url: 'https://example.com/', format: 'webhook', types: [] },
  ...{ filters: {}, options: {}, hasCredential: false, status: 'active', pausedBecause: null },
  ...{ nextSequence: 7, behind: 0, attempt: 0, nextAttemptAt: null, lastDelivery: null },
  ...{ previousSecretValidUntil: null, createdAt: '', updatedAt: '' },
  ...changes,
});
const failing = (inMs: number) =>
  webhook({ behind: 3, attempt: 2, nextAttemptAt: new Date(nowMs + inMs).toISOString() });

test('an endpoint that failed is not said to be sending, and one that was given up not to be paused', () => {
  expect(conditionOf(webhook({}))).toBe('current');
  expect(conditionOf(webhook({ behind: 1 }))).toBe('behind');
  expect(conditionOf(failing(5_000))).toBe('failing');
  const paused = { status: 'paused', behind: 9, attempt: 8 } as const;
  expect(conditionOf(webhook({ ...paused, pausedBecause: 'requested' }))).toBe('paused');
  expect(conditionOf(webhook({ ...paused, pausedBecause: 'failing' }))).toBe('stopped');
  const lastDelivery = { responseStatus: 410 } as Webhook['lastDelivery'];
  expect(conditionOf(webhook({ ...paused, pausedBecause: 'failing', lastDelivery }))).toBe('gone');
});

test('a page asks again while something is under way, soon after the next attempt, and else never', () => {
  expect(nextLookMs(webhook({}), nowMs)).toBeNull();
  expect(nextLookMs(webhook({ status: 'paused', behind: 3 }), nowMs)).toBeNull();
  expect(nextLookMs(webhook({ behind: 3 }), nowMs)).toBe(2_000);
  expect(nextLookMs(failing(5_000), nowMs)).toBe(6_000);
  expect(nextLookMs(failing(-5_000), nowMs)).toBe(2_000);
  expect(nextLookMs(failing(36_000_000), nowMs)).toBeNull();
});
