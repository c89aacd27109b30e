import { expect, test } from 'vitest';
import { isLoopbackUrl, serviceUrl } from './address.ts';

const withKey = { key: true, insecure: false };

test('every spelling of this machine counts as loopback, and no other host does', () => {
  const hosts = ['127.0.0.1', '127.1', '0x7f000001', 'localhost', 'app.localhost', '[::1]'];
  for (const host of hosts) expect(isLoopbackUrl(new URL(`http://${host}:3000`)), host).toBe(true);
  const others = [
    '128.0.0.1',
    '127.0.0.1.example.com',
    'localhost.example.com',
    '[::2]',
    '10.0.0.1',
  ];
  for (const host of others) expect(isLoopbackUrl(new URL(`http://${host}`)), host).toBe(false);
});

test('a key never goes over plain http to another machine unless that is allowed', () => {
  expect(() => serviceUrl('http://audit.example.com', withKey)).toThrow('unencrypted');
  expect(serviceUrl('http://audit.example.com', { key: true, insecure: true })).toBe(
    'http://audit.example.com',
  );
  expect(serviceUrl('http://audit.example.com', { key: false, insecure: false })).toBe(
    'http://audit.example.com',
  );
  expect(serviceUrl('https://audit.example.com', withKey)).toBe('https://audit.example.com');
});

test('a path in front of the API is kept, without trailing slashes', () => {
  expect(serviceUrl('https://example.com/audit//', withKey)).toBe('https://example.com/audit');
});

test('a text that is no address of a service is refused without repeating it', () => {
  const secret = 'https://me:hunter2@example.com';
  for (const text of ['', 'example.com', 'ftp://example.com', secret, 'https://e.com/?a=1']) {
    expect(() => serviceUrl(text, withKey), text).toThrow(TypeError);
  }
  expect(() => serviceUrl(secret, withKey)).not.toThrow('hunter2');
});
