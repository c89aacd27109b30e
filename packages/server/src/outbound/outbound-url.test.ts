import { expect, test } from 'vitest';
import { isMailAddress, isOutboundUrl } from './outbound-url.ts';

test.each([
  ...['https://host.example.com', 'https://host.example.com:8443/restore?x=1#y'],
  ...['HTTPS://HOST.EXAMPLE.COM/', 'https://192.0.2.1/', 'https://[2001:db8::1]/'],
  ...['http://localhost:3000/', 'http://127.0.0.1/', 'http://[::1]:1/', 'http://app:8080/restore'],
  `https://a.example/${'x'.repeat(2_030)}`,
])('%s has the form of a URL to call', (url) => {
  expect(isOutboundUrl(url)).toBe(true);
});

test.each([
  ...['', 'host.example.com', '//host.example.com/', 'https:host.example.com', 'https://'],
  ...['https://host.example.com:99999/', 'http://localhost@host.example.com/'],
  ...['https://user@host.example.com/', 'https://user:password@host.example.com/'],
  ...['ftp://host.example.com/', 'file:///etc/passwd', 'javascript:alert(1)'],
  ...[' https://host.example.com/', 'https://host.example.com/ x', 'https://host.example.com/\n'],
  'https://h\u00f6st.example.com/',
  `https://a.example/${'x'.repeat(2_031)}`,
])('%j has not', (url) => {
  expect(isOutboundUrl(url)).toBe(false);
});

test.each([
  ...[
    'ana@example.com',
    'root@localhost',
    "o'hara+audit@mail-1.example.com",
    'ana/x=y@example.com',
  ],
  ...['анна@пример.рф', 'info@हिन्दी.example', 'a@xn--mnchen-3ya.example', 'a@192.0.2.1'],
])('mail can be sent to %s', (address) => {
  expect(isMailAddress(address)).toBe(true);
});

test.each([
  ...['ana', '@example.com', 'ana@', 'a@b@example.com', 'a b@example.com', 'a@b, c@example.com'],
  ...['.ana@example.com', 'a..b@example.com', 'a@b..example', 'a@.example', 'a@example.', 'a@-b'],
  ...['a@evil.example/login', 'a@evil.example?x', 'a@b_c', 'a@b!', 'Ana <a@example.com>', 'a@b-'],
  ...['a@example.com\r\nBcc: b@example.com', `${'a'.repeat(309)}@example.com`],
])('%j is no address to send mail to', (address) => {
  expect(isMailAddress(address)).toBe(false);
});
