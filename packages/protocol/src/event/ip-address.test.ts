import { isIP } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalIp, plainIp } from './ip-address.ts';

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

test('an address has one form, however it was written', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const canonical = canonicalIp(text) ?? 'none';
      expect(canonicalIp(canonical)).toBe(canonical);
      expect(canonicalIp(text.toUpperCase())).toBe(canonical);
    }),
  );
  for (const [text, canonical] of [
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:0db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['::ffff:cb00:7107', '203.0.113.7'],
  ] as const) {
    expect(canonicalIp(text)).toBe(canonical);
  }
});

test.each([
  ['203.0.113.7:51234', '203.0.113.7'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['[fe80::1%eth0]:443', 'fe80::1'],
  ['::FFFF:203.0.113.7', '203.0.113.7'],
  [' 203.0.113.7, 10.0.0.1', '203.0.113.7'],
  ['unknown', null],
  ['ec2.amazonaws.com', null],
  ['unknown, 203.0.113.7', null],
  ['', null],
])('the address in %j is %j', (text, address) => {
  expect(plainIp(text)).toBe(address);
});
