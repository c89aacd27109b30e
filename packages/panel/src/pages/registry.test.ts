import { expect, test } from 'vitest';
import type { Session } from '../api.ts';
import { navigationFor, type PanelPage, pages } from './registry.ts';

const session = { scopes: [], sensitiveAccess: null } as unknown as Session;

test('no two pages share an address, and no two a key', () => {
  const all = Object.values<PanelPage>(pages);
  expect(new Set(all.map(({ path }) => path)).size).toBe(all.length);
  const keys = all.flatMap(({ nav }) => nav?.key ?? []);
  expect(new Set(keys).size).toBe(keys.length);
});

test('a session without sensitive types has no page of them, in no list', () => {
  const addresses = (of: Session) => navigationFor(of).map(({ path }) => path);
  expect(addresses(session)).not.toContain(pages['sensitive-access'].path);
  const counted = { resourceTypes: ['recording'], actions: ['play'] };
  expect(addresses({ ...session, sensitiveAccess: counted })).toContain(
    pages['sensitive-access'].path,
  );
});
