import { plainIp } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { rangesOf } from './client-address.ts';

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:51512', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['[2001:db8::7]:443', '2001:db8::7'],
  ['[2001:db8::7]', '2001:db8::7'],
  ['fe80::1%eth0', 'fe80::1'],
  [' 203.0.113.7 ', '203.0.113.7'],
])('%s is the client %s', (text, client) => {
  expect(plainIp(text)).toBe(client);
});

test.each([
  '',
  'unknown',
  '_hidden',
  '203.0.113',
  '1.2.3.4.5',
  '01.2.3.4',
  'localhost:80',
  ':::',
  '1::2::3',
  '[]',
  '::1]',
  'http://1.2.3.4',
])('%j is no address', (text) => {
  expect(plainIp(text)).toBeNull();
});

test('a range holds its addresses to the last bit, and IPv4 is never taken for IPv6', () => {
  const holds = (range: string, address: string) => rangesOf([range])(address);
  expect(holds('10.0.0.0/8', '10.255.255.255')).toBe(true);
  expect(holds('10.0.0.0/8', '11.0.0.0')).toBe(false);
  expect(holds('192.0.2.4/30', '192.0.2.7')).toBe(true);
  expect(holds('192.0.2.4/30', '192.0.2.8')).toBe(false);
  expect(holds('2001:db8::/33', '2001:db8:7fff::1')).toBe(true);
  expect(holds('2001:db8::/33', '2001:db8:8000::1')).toBe(false);
  expect(holds('::1', '::1')).toBe(true);
  expect(holds('0.0.0.0/0', '2001:db8::1')).toBe(false);
  expect(holds('::/96', '0.0.0.1')).toBe(false);
});

test.each([
  '',
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '10.0.0.0/',
  '10.0.0.0/8/8',
  '::/129',
  'loopbacks',
  '10.0.0.0/1e1',
])('%j is no range, and configuring it fails', (range) => {
  expect(() => rangesOf([range])).toThrow(TypeError);
});
