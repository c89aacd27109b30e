import { beforeEach, expect, test, vi } from 'vitest';
import { keepReturnPath, signInHref, takeReturnPath } from './return-path.ts';

const ana = { actor: { id: 'ana' }, tenant: { id: 'aurora' } };
const kept = new Map<string, string>();

beforeEach(() => {
  kept.clear();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
});

test('who signs in again comes back to where they were, once', () => {
  keepReturnPath('/settings/audit/events?action=delete', ana, 0);
  expect(takeReturnPath(ana, 60_000)).toBe('/settings/audit/events?action=delete');
  expect(takeReturnPath(ana, 60_000)).toBeNull();
});

test('no other person is led there, in no other tenant, and not the day after', () => {
  const others = [
    { ...ana, actor: { id: 'bo' } },
    { ...ana, tenant: { id: 'brisa' } },
  ];
  for (const other of others) {
    keepReturnPath('/settings/audit/events', ana, 0);
    expect(takeReturnPath(other, 60_000)).toBeNull();
  }
  keepReturnPath('/settings/audit/events', ana, 0);
  expect(takeReturnPath(ana, 86_400_000)).toBeNull();
});

test('a browser without storage simply does not remember', () => {
  vi.stubGlobal('localStorage', undefined);
  keepReturnPath('/settings/audit/events', ana, 0);
  expect(takeReturnPath(ana, 0)).toBeNull();
});

test('the host is told a path of the panel as a whole, and nothing else', () => {
  const path = '/settings/audit/events?user=ana%40example.com&action=%21delete';
  const signIn = 'https://app.example.com/login?tenant=7#top';
  const href = new URL(signInHref(signIn, path));
  expect([...href.searchParams]).toEqual([
    ['tenant', '7'],
    ['return_to', path],
  ]);
  expect([href.origin, href.pathname]).toEqual(['https://app.example.com', '/login']);
  for (const other of ['//evil.example', '/enter', `${path}${'x'.repeat(2_048)}`]) {
    expect(signInHref(signIn, other)).toBe(signIn);
  }
});
