import type { AuditEvent } from '@indelible/client';
import { expect, test } from 'vitest';
import { visitsOf } from './visits.ts';

const minute = 60_000;

/** An operator's event so many minutes after ten o'clock. */
function at(minutes: number, of: Partial<AuditEvent> & { email?: string } = {}): AuditEvent {
  const { email = 'olga@operator.example', ...rest } = of;
  const timestamp = new Date(Date.UTC(2026, 5, 1, 10) + minutes * minute).toISOString();
  const actor = { id: email, email, role: 'superadmin', ip: null, userAgent: null };
  const recordedBy = { kind: 'service', id: 'service' };
  const event = { id: `${email} ${minutes}`, timestamp, actor, reason: 'Ticket 1', recordedBy };
  return { ...event, ...rest } as AuditEvent;
}

const shown = (events: AuditEvent[]) =>
  visitsOf(events).map(({ fromMs, toMs, events: all }) => [
    new Date(fromMs).toISOString().slice(11, 16),
    new Date(toMs).toISOString().slice(11, 16),
    all.length,
  ]);

test('two sittings are two visits, in either order of time', () => {
  const events = [at(95), at(80), at(65), at(30), at(0)];
  const visits = [
    ['11:05', '11:35', 3],
    ['10:00', '10:30', 2],
  ];
  expect(shown(events)).toEqual(visits);
  expect(shown(events.toReversed())).toEqual(visits.toReversed());
});

test('operators at the same time, reasons and who attests them are visits of their own', () => {
  const otto = { email: 'otto@operator.example' };
  expect(shown([at(3), at(3, otto), at(2), at(1, otto), at(0)])).toEqual([
    ['10:00', '10:03', 3],
    ['10:01', '10:03', 2],
  ]);
  const byKey = { recordedBy: { kind: 'api_key', id: 'key' } } as const;
  expect(visitsOf([at(3), at(2, { reason: 'Ticket 2' }), at(1, { reason: null })])).toHaveLength(3);
  expect(visitsOf([at(3), at(2, byKey)])).toHaveLength(2);
  const forOtto = { onBehalfOf: [{ email: otto.email }] };
  expect(visitsOf([at(3), at(2, forOtto), at(1, forOtto)])).toHaveLength(2);
});

test('an erased reason does not join a missing one', () => {
  const erased = at(1, { reason: null, erased: ['change'] });
  expect(visitsOf([at(2, { reason: null }), erased])).toHaveLength(2);
});
