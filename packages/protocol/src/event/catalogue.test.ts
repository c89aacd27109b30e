import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCatalogue, defaultCatalogue, isCategory } from './catalogue.ts';
import { categories } from './catalogue-data.ts';

/* take-event.test.ts has what the default catalogue makes of events. */

test('another catalogue replaces the default one, beside the standard actions', () => {
  const crm = createCatalogue({
    events: {
      actions: { data_access: ['listen', 'read'], integration: ['sync'] },
      resourceTypes: ['call', 'deal'],
      sensitiveTypes: ['deal'],
      accessTypes: ['call'],
      notRecordable: [{ actions: ['ping'], resourceTypes: ['call'], why: 'Pings are noise.' }],
    },
  });
  expect(crm.categoryOf('listen', false)).toBe('data_access');
  expect(crm.categoryOf('sync', false)).toBe('integration');
  expect(crm.categoryOf('login', false)).toBe('security');
  expect(crm.stateWarning('deal', 'update', true, false)).toBe(true);
  expect(crm.stateWarning('ivr', 'update', true, false)).toBe(false);
  expect([crm.notRecordable('update', 'call'), crm.notRecordable('ping', 'deal')]).toEqual([
    null,
    null,
  ]);
  expect(crm.notRecordable('ping', 'call')).toBe('Pings are noise.');
  expect(crm.sensitiveAccess?.resourceTypes).toEqual(['call']);
  expect(crm.sensitiveAccess?.actions).toEqual(expect.arrayContaining(['listen', 'download']));
  expect(defaultCatalogue.categoryOf('listen', false)).toBe('configuration');
});

test('a catalogue without accessTypes counts no accesses', () => {
  expect(createCatalogue({ events: {} }).sensitiveAccess).toBeNull();
  expect(defaultCatalogue.sensitiveAccess?.resourceTypes).toEqual(['recording']);
});

test.each([
  [{ actions: { security: ['create'] } }, 'the action create is configuration and cannot be'],
  [{ actions: { security: ['sync'], integration: ['sync'] } }, 'sync is security and cannot'],
  [{ sensitiveTypes: ['deal'] }, 'sensitiveTypes names deal, which resourceTypes does not name'],
  [{ accessTypes: ['call'] }, 'accessTypes names call, which resourceTypes does not name'],
  [{ notRecordable: [{ why: 'No.' }] }, 'notRecordable "No." needs actions, resourceTypes or both'],
])('the catalogue %j contradicts itself, and a sentence says how', (events, sentence) => {
  expect(() => createCatalogue({ events })).toThrow(sentence);
});

test('every event has exactly one known category', () => {
  fc.assert(
    fc.property(fc.string(), fc.boolean(), (action, crossTenant) => {
      expect(isCategory(defaultCatalogue.categoryOf(action, crossTenant))).toBe(true);
    }),
  );
  expect(categories).toHaveLength(5);
  expect(isCategory('toString')).toBe(false);
});
