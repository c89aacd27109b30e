import { isIP } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalIp, plainIp, rangesOf } from './ip-address.ts';

const almostIp = fc.stringMatching(/^[0-9a-f:.%[\]]{0,24}$/);
const anyIp = fc.oneof(fc.ipV4(), fc.ipV6(), almostIp, fc.string());

test('an address is what Node takes for one, but for zones', () => {
  fc.assert(
    fc.property(anyIp, (text) => {
      expect(canonicalIp(text) !== null).toBe(isIP(text) !== 0 && !text.includes('%'));
    }),
    { numRuns: 1_000 },
  );
});

test('an address has one form, whoever wrote it', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const canonical = canonicalIp(text) ?? 'none';
      expect(canonicalIp(canonical)).toBe(canonical);
      expect(canonicalIp(text.toUpperCase())).toBe(canonical);
    }),
  );
  expect(canonicalIp('2001:DB8:0:0:1:0:0:1')).toBe('2001:db8::1:0:0:1');
  expect(canonicalIp('::ffff:cb00:7107')).toBe('::ffff:203.0.113.7');
});

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
