import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCatalogue, defaultCatalogue, isCategory } from './catalogue.ts';
import { categories } from './catalogue-data.ts';

const { categoryOf, notRecordable, stateWarning } = defaultCatalogue;

test.each([
  ['configuration', 'create update delete publish restore'],
  ['data_access', 'access read view list search play download export'],
  ['security', 'login logout login_failed mfa_configured password_changed session_forced'],
  ['integration', 'connect disconnect push send'],
])('the category %s holds %s', (category, actions) => {
  for (const action of actions.split(' ')) expect(categoryOf(action, false)).toBe(category);
});

test('unknown words are configuration, members of every object included', () => {
  for (const action of ['assign', 'constructor', '__proto__', 'has_own_property']) {
    expect(categoryOf(action, false)).toBe('configuration');
  }
});

test('acting across tenants wins over what was done', () => {
  for (const action of ['create', 'read', 'login', 'push', 'assign']) {
    expect(categoryOf(action, true)).toBe('cross_tenant');
  }
});

test.each(['dashboard', 'wallboard', 'softphone', 'page'])(
  'looking at, refreshing and beating on a %s is not recordable, changing it is',
  (type) => {
    for (const action of ['access', 'view', 'read', 'refresh', 'heartbeat', 'page_view']) {
      expect(notRecordable(action, type)).toMatch(/^[A-Z].+\.$/);
    }
    for (const action of ['create', 'update', 'delete', 'publish', 'export']) {
      expect(notRecordable(action, type)).toBeNull();
    }
  },
);

test('page views, heartbeats and calls are not recordable on or with anything', () => {
  expect(notRecordable('page_view', 'recording')).toContain('Page views');
  expect(notRecordable('heartbeat', 'agent')).toContain('Heartbeats');
  expect(notRecordable('update', 'call')).toContain('call-detail record');
  expect(notRecordable('access', 'recording')).toBeNull();
  expect(notRecordable('refresh', 'oauth')).toBeNull();
});

test('a change of a sensitive type lacks a state exactly when it should carry it', () => {
  const lacks = (action: string) =>
    [false, true].flatMap((before) =>
      [false, true].map((after) => stateWarning('ivr', action, before, after)),
    );
  // In the order: neither state, only after, only before, both.
  expect(lacks('create')).toEqual([true, false, true, false]);
  expect(lacks('delete')).toEqual([true, true, false, false]);
  expect(lacks('update')).toEqual([true, true, true, false]);
  expect(lacks('reroute')).toEqual([true, true, true, false]);
  expect(lacks('read')).toEqual([false, false, false, false]);
});

test('a type that is not sensitive needs no states', () => {
  expect(stateWarning('queue', 'delete', false, false)).toBe(false);
});

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
      expect(isCategory(categoryOf(action, crossTenant))).toBe(true);
    }),
  );
  expect(categories).toHaveLength(5);
  expect(isCategory('toString')).toBe(false);
});
