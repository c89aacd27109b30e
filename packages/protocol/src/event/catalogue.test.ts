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

test('the sensitive types are those of the catalogue; others need no states', () => {
  expect([...defaultCatalogue.sensitiveTypes]).toEqual(['recording_policy', 'ivr', 'user_role']);
  expect(stateWarning('queue', 'delete', false, false)).toBe(false);
});

test('configuration adds actions and sensitive types without touching the default', () => {
  const own = createCatalogue({
    actions: { listen: 'data_access', read: 'data_access' },
    sensitiveTypes: ['queue'],
  });
  expect(own.categoryOf('listen', false)).toBe('data_access');
  expect(own.stateWarning('queue', 'update', true, false)).toBe(true);
  expect(own.stateWarning('queue', 'listen', false, false)).toBe(false);
  expect(own.stateWarning('ivr', 'create', false, false)).toBe(true);
  expect(defaultCatalogue.categoryOf('listen', false)).toBe('configuration');
  expect(defaultCatalogue.sensitiveTypes.has('queue')).toBe(false);
});

test.each([
  [{ actions: { Listen: 'data_access' } }, 'Listen is not snake_case'],
  [{ actions: { listen: 'listening' } }, 'listening is not a category'],
  [{ actions: { listen: 'cross_tenant' } }, 'cross_tenant is not a category'],
  [{ actions: { create: 'security' } }, 'create has another category'],
  [{ sensitiveTypes: ['Queue'] }, 'Queue is not snake_case'],
])('the extension %j is refused with a sentence', (extension, sentence) => {
  expect(() => createCatalogue(extension)).toThrow(sentence);
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
