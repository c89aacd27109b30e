import type { AuditEvent } from '@indelible/client';
import { expect, test } from 'vitest';
import { emptySearch } from '../../search/event-search.ts';
import { isFresh, isRoutine } from './routine.ts';

const event = (action: string, type: string, of: Partial<AuditEvent> = {}) =>
  ({
    action,
    resource: { type, id: '1', name: null },
    crossTenant: false,
    recordedBy: { kind: 'service', id: '2' },
    ...of,
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

test('a tenant is new only while the service alone has recorded, from the first entry on', () => {
  const own = [1, 0].map((sequence) => event('login', 'session', { sequence }));
  expect(isFresh(own, emptySearch)).toBe(true);
  // Newest of a longer log, or what retention has left of one.
  const later = [8, 7].map((sequence) => event('login', 'session', { sequence }));
  expect(isFresh(later, emptySearch)).toBe(false);
  const product = { recordedBy: { kind: 'api_key', id: '2' } } as const;
  const used = [event('update', 'queue', { sequence: 2, ...product }), ...own];
  expect(isFresh(used, emptySearch)).toBe(false);
});
