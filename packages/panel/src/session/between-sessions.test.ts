import { beforeEach, expect, test, vi } from 'vitest';
import { forgetOld, leave, signInHref, takeLeft } from './between-sessions.ts';

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

test('a reader who signs in again finds the kept form once', () => {
  leave('path', '/settings/audit/events?action=delete', ana, 0);
  expect(takeLeft('form', ana, 60_000)).toBeUndefined();
  expect(takeLeft('path', ana, 60_000)).toBe('/settings/audit/events?action=delete');
  expect(takeLeft('path', ana, 60_000)).toBeUndefined();
});

test('no other person finds it, in no other tenant, and not the day after', () => {
  const others = [
    { ...ana, actor: { id: 'bo' } },
    { ...ana, tenant: { id: 'brisa' } },
  ];
  for (const other of others) {
    leave('path', '/settings/audit/events', ana, 0);
    expect(takeLeft('path', other, 60_000)).toBeUndefined();
  }
  leave('path', '/settings/audit/events', ana, 0);
  expect(takeLeft('path', ana, 86_400_000)).toBeUndefined();
});

test('nothing stays in the browser: not after it was taken, not for another person, not beyond half an hour', () => {
  const leaveTwo = () => {
    leave('path', '/settings/audit/events', ana, 0);
    leave('form', { note: 'Case 4711' }, ana, 60_000);
  };
  leaveTwo();
  expect(takeLeft('path', ana, 60_000)).toBe('/settings/audit/events');
  expect(takeLeft('form', ana, 60_000)).toEqual({ note: 'Case 4711' });
  expect(kept.size).toBe(0);
  leaveTwo();
  takeLeft('view', { ...ana, actor: { id: 'bo' } }, 60_000);
  expect(kept.size).toBe(0);
  leaveTwo();
  forgetOld(30 * 60_000);
  expect([...kept.values()].join()).toContain('Case 4711');
  expect([...kept.values()].join()).not.toContain('/settings');
  forgetOld(31 * 60_000);
  expect(kept.size).toBe(0);
});

test('a browser without storage simply does not remember', () => {
  vi.stubGlobal('localStorage', undefined);
  leave('path', '/settings/audit/events', ana, 0);
  expect(takeLeft('path', ana, 0)).toBeUndefined();
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
