import type { AuditEvent } from '@indelible/client';
import { expect, test } from 'vitest';
import { outcomeIn } from './outcome-in.ts';

const restore = (kind: 'service' | 'api_key', changes: object) =>
  outcomeIn({
    ...({ action: 'restore', recordedBy: { kind, id: '' }, ...changes } as unknown as AuditEvent),
  });

test('a refused restore is denied, also in records that do not state an outcome', () => {
  expect(restore('service', { outcome: 'denied' })).toBe('denied');
  expect(restore('service', { after: { outcome: 'refused' } })).toBe('denied');
  expect(restore('service', { after: { outcome: 'requested' } })).toBeNull();
  expect(restore('api_key', { after: { outcome: 'refused' } })).toBeNull();
});

test('an action that says that it failed is a failure', () => {
  expect(restore('api_key', { action: 'login_failed' })).toBe('failure');
  expect(restore('api_key', { action: 'login_failed', outcome: 'denied' })).toBe('denied');
});
