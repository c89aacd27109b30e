import { takeEvent } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { eventOf, takeContext } from '../../../protocol/src/testing/take-context.ts';
import { idOf } from './id-of.ts';

test('an own id has the UUID that the documentation derives', () => {
  expect(idOf.tenant('org_123')).toBe('2e1576dd-878d-595f-9ac6-477d56a69a5e');
  expect(idOf.actor('org_123', 'user_123')).toBe('92943f0d-79b5-5e6c-b4a4-04c78a9b61de');
  expect(idOf.resource('org_123', 'queue', 'q_7')).toBe('828f9075-a9fa-5ac3-9d22-efa689bf3363');
});

test('the service derives the same UUIDs', () => {
  const { event } = takeEvent(
    eventOf({
      tenantId: 'org_123',
      actor: { externalId: 'user_123', role: 'admin' },
      resource: { type: 'queue', externalId: 'q_7' },
    }),
    takeContext({ boundTenantId: null }),
  );
  expect(event).toMatchObject({
    tenantId: idOf.tenant('org_123'),
    actorId: idOf.actor('org_123', 'user_123'),
    resourceId: idOf.resource(idOf.tenant('org_123'), 'queue', 'q_7'),
  });
});

test('a UUID is itself, and other forms of the same own id are one tenant', () => {
  const uuid = '0199D3B5-6C1F-7E82-A4D0-3B9C5F7E2A16';
  expect(idOf.tenant(uuid)).toBe(uuid.toLowerCase());
  expect(idOf.actor(uuid, uuid)).toBe(uuid.toLowerCase());
  expect(idOf.tenant('Ñandú'.normalize('NFD'))).toBe(idOf.tenant('Ñandú'));
});

test.each(['', ' org', '!org', 'a\nb', 'x'.repeat(201)])('%j is no id', (id) => {
  expect(() => idOf.tenant(id)).toThrow(TypeError);
  expect(() => idOf.actor('org_123', id)).toThrow(TypeError);
});
