import { expect, test } from 'vitest';
import { clearCookie, readCookie, sessionCookie, setCookie } from './cookie.ts';

const cookieOf = (publicUrl: string | null, frameAncestors: string[] = []) =>
  sessionCookie({ publicUrl, frameAncestors });

test('off loopback the cookie belongs to this host alone and never travels without TLS', () => {
  for (const url of ['https://audit.example.com', 'https://localhost', 'http://audit.internal']) {
    expect(setCookie(cookieOf(url), 'abc')).toBe(
      '__Host-indelible_session=abc; Path=/; HttpOnly; Secure; SameSite=Strict',
    );
  }
});

test('on loopback, where there is no TLS, the cookie does without it', () => {
  for (const url of [null, 'http://127.0.0.1:3000', 'http://localhost:8080', 'http://[::1]:3000']) {
    expect(setCookie(cookieOf(url), 'abc')).toBe(
      'indelible_session=abc; Path=/; HttpOnly; SameSite=Strict',
    );
  }
});

test('where another site embeds the panel, the cookie is kept for each embedding site apart', () => {
  const embedded = cookieOf('https://audit.example.com', ['https://app.example.net']);
  const attributes = 'Path=/; HttpOnly; Secure; SameSite=None; Partitioned';
  expect(setCookie(embedded, 'abc')).toBe(`__Host-indelible_embedded=abc; ${attributes}`);
  expect(clearCookie(embedded)).toBe(`__Host-indelible_embedded=; ${attributes}; Max-Age=0`);
  const own = cookieOf('https://audit.example.com', ["'self'"]);
  expect(own.attributes).toContain('SameSite=Strict');
  // Without TLS no browser keeps such a cookie.
  expect(cookieOf(null, ['http://localhost:4000']).attributes).toContain('SameSite=Strict');
});

test('the token is found among other cookies, and two of them are none', () => {
  const cookie = cookieOf(null);
  expect(readCookie(cookie, undefined)).toBe(null);
  expect(readCookie(cookie, '')).toBe(null);
  expect(readCookie(cookie, 'a=1; indelible_session=abc=; b')).toBe('abc=');
  expect(readCookie(cookie, 'xindelible_session=abc; indelible_sessionx=abc')).toBe(null);
  expect(readCookie(cookie, 'indelible_session')).toBe(null);
  expect(readCookie(cookie, 'indelible_session=a; indelible_session=b')).toBe(null);
  expect(readCookie(cookie, '__Host-indelible_session=a')).toBe(null);
});
