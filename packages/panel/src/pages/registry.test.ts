import { expect, test } from 'vitest';
import type { Session } from '../api.ts';
import { isVisible, navigationFor, type PanelPage, pages } from './registry.ts';

const session = { scopes: [], sensitiveAccess: null } as unknown as Session;

test('no two pages share an address, and no two a key', () => {
  const all = Object.values<PanelPage>(pages);
  expect(new Set(all.map(({ path }) => path)).size).toBe(all.length);
  const keys = all.flatMap(({ nav }) => nav?.key ?? []);
  expect(new Set(keys).size).toBe(keys.length);
});

const addresses = (of: Session) => navigationFor(of).map(({ path }) => path);

test('a session that may not manage webhooks or alerts has no page of them', () => {
  const both = [pages.webhooks.path, pages.alerts.path];
  const manager = { ...session, scopes: ['webhooks:write', 'alerts:write'] } as Session;
  expect(addresses(session).filter((path) => both.includes(path))).toEqual([]);
  expect(addresses(manager)).toEqual(expect.arrayContaining(both));
  expect(isVisible(pages.webhook, session)).toBe(false);
});

test('a session without sensitive types has no page of them, in no list', () => {
  expect(addresses(session)).not.toContain(pages['sensitive-access'].path);
  const counted = { resourceTypes: ['recording'], actions: ['play'] };
  expect(addresses({ ...session, sensitiveAccess: counted })).toContain(
    pages['sensitive-access'].path,
  );
});
