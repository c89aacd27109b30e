import { expect, test } from 'vitest';
import { isForeignRequest, isOwnOrigin } from './origin.ts';

test('with PUBLIC_URL its origin is the only own one', () => {
  const own = { publicUrl: 'https://audit.example.com/base', listening: 'http://127.0.0.1:3000' };
  expect(isOwnOrigin('https://audit.example.com', own)).toBe(true);
  for (const origin of [
    ...[undefined, '', 'null', 'https://audit.example.com/', 'http://audit.example.com'],
    ...['https://audit.example.com:8443', 'https://audit.example.com.evil.example'],
    ...['https://evil.example', 'https://AUDIT.example.com', 'http://127.0.0.1:3000'],
  ]) {
    expect(isOwnOrigin(origin, own), origin).toBe(false);
  }
});

test('a service without PUBLIC_URL takes the names of loopback at its port as its own, and no other name', () => {
  const own = { publicUrl: null, listening: 'http://127.0.0.1:3000' };
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    expect(isOwnOrigin(`http://${host}:3000`, own)).toBe(true);
    expect(isOwnOrigin(`http://${host}:3001`, own)).toBe(false);
    expect(isOwnOrigin(`https://${host}:3000`, own)).toBe(false);
  }
  // A name of theirs that leads here, as in DNS rebinding.
  expect(isOwnOrigin('http://evil.example:3000', own)).toBe(false);
  expect(isOwnOrigin('http://localhost', { publicUrl: null, listening: 'http://[::1]:80' })).toBe(
    true,
  );
});

test('only what the page itself or the person asked for is not foreign', () => {
  expect([undefined, 'same-origin', 'none'].map(isForeignRequest)).toEqual([false, false, false]);
  const foreign = ['cross-site', 'same-site', '', 'other', ['none', 'cross-site']];
  expect(foreign.map(isForeignRequest)).toEqual(foreign.map(() => true));
});
