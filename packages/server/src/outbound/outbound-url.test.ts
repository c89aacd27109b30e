import { expect, test } from 'vitest';
import { isOutboundUrl } from './outbound-url.ts';

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
