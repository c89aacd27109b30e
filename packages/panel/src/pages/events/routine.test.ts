import type { AuditEvent } from '@indelible/client';
import { expect, test } from 'vitest';
import { isRoutine } from './routine.ts';

const event = (action: string, type: string, of: Partial<AuditEvent> = {}) =>
  ({
    ...{ action, resource: { type, id: '1', name: null }, crossTenant: false },
    ...{ recordedBy: { kind: 'service', id: '2' }, ...of },
  }) as AuditEvent;

test('the service’s routine can be folded away', () => {
  expect(isRoutine(event('send', 'webhook'))).toBe(true);
  expect(isRoutine(event('login', 'session'))).toBe(true);
});

test('no operator’s act, no other program’s record, and nothing that a person did with the service', () => {
  const byKey = { recordedBy: { kind: 'api_key', id: '2' } } as const;
  const kept = [
    event('login', 'session', { crossTenant: true }),
    event('login', 'session', byKey),
    event('login_failed', 'session'),
    event('access', 'export'),
    event('create', 'api_key'),
    event('pause', 'webhook'),
    event('send', 'webhook', { outcome: 'failure' }),
    event('create', 'viewer_link', { outcome: 'denied' }),
    event('create', 'constructor'),
  ];
  expect(kept.filter(isRoutine)).toEqual([]);
});
