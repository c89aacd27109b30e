import { eventArbitrary } from '@indelible/testing/arbitraries';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventIdFromUuid, eventUuid } from '../../../protocol/src/index.ts';
import { boundTenantId, eventOf, nowMs } from '../../../protocol/src/testing/take-context.ts';
import { judgeEvent } from './judge-event.ts';

/* What the service's code says is tested beside it, in take-event.test.ts. */

const context = { nowMs, boundTenantId };
const idAt = (timeMs: number) => eventIdFromUuid(eventUuid(timeMs, new Uint8Array(10).fill(7)));
const iso = (timeMs: number) => new Date(timeMs).toISOString();

test('every valid event is captured as it was sent', () => {
  fc.assert(
    fc.property(eventArbitrary, (sent) => {
      const { event } = judgeEvent(sent, context);
      // Through JSON: -0 is 0 there.
      expect(event).toMatchObject(JSON.parse(JSON.stringify(sent)));
      expect(event?.tenantId).toBe(boundTenantId);
      expect(event?.crossTenant).toBe(sent.actor.role === 'superadmin');
      expect(event?.hasState).toBe(sent.before !== null || sent.after !== null);
    }),
  );
});

test('a refusal names every field that is wrong, in one line for a failed test', () => {
  const { refusal } = judgeEvent(eventOf({ action: 'Update', reason: 1 }), context);
  expect(refusal?.code).toBe('validation_failed');
  expect(refusal?.errors.map(({ path, code }) => [path, code])).toEqual([
    ['/action', 'invalid_format'],
    ['/reason', 'invalid_type'],
  ]);
  expect(refusal?.detail).toBe(
    '/action is not a snake_case word, or several with dots between them; /reason must be a text or null',
  );
});

test('the fake service knows of tenants what it was told', () => {
  const other = eventOf({ tenantId: '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24' });
  expect(judgeEvent(other, context).refusal?.code).toBe('forbidden');
  const tenantOf = (sent: unknown) =>
    judgeEvent(sent, { nowMs, boundTenantId: undefined }).event?.tenantId;
  expect(tenantOf(other)).toBe(other.tenantId);
  expect(tenantOf(eventOf())).toBeNull();
  const { refusal } = judgeEvent(eventOf(), { nowMs, boundTenantId: null });
  expect(refusal?.errors).toMatchObject([{ path: '/tenantId', code: 'required' }]);
});

test('an event without id and timestamp gets the present moment; the states are as on the wire', () => {
  const unbound = { nowMs, boundTenantId: undefined };
  const before = { at: new Date(nowMs), tags: new Set(['a']) };
  const { event } = judgeEvent(eventOf({ before }), unbound);
  expect(event?.timestamp).toBe(iso(nowMs));
  expect(event?.before).toEqual({ at: iso(nowMs), tags: ['a'] });
  expect(judgeEvent(eventOf({ id: idAt(5) }), unbound).event?.timestamp).toBe(iso(5));
});
