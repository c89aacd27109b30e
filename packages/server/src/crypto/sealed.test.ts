import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../../protocol/src/testing/any-character.ts';
import { createSealer } from './sealed.ts';

const sealer = createSealer('a session secret of the tests, 32 bytes or more');
const context = 'tenant-restore-secret:1';

test('every sealed text can be opened again, and does not show', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, minLength: 4 }), fc.string(), (secret, context) => {
      const sealed = sealer.seal(context, secret);
      expect(sealer.open(context, sealed)).toBe(secret);
      expect(sealed.includes(secret)).toBe(false);
    }),
  );
});

test('sealing the same secret twice does not show that it is the same', () => {
  expect(sealer.seal(context, 'secret')).not.toEqual(sealer.seal(context, 'secret'));
});

test('a sealed secret with any bit flipped is refused', () => {
  const sealed = sealer.seal(context, 'whsec_secret');
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    expect(() => sealer.open(context, changed), `bit ${bit}`).toThrow('cannot be decrypted');
  }
});

test('a sealed secret that was cut short is refused', () => {
  const sealed = sealer.seal(context, 'whsec_secret');
  for (let length = 0; length < sealed.length; length += 1) {
    expect(() => sealer.open(context, sealed.subarray(0, length))).toThrow('cannot be decrypted');
  }
});

test('a sealed secret moved to another row is refused', () => {
  const sealed = sealer.seal(context, 'whsec_secret');
  expect(() => sealer.open('tenant-restore-secret:2', sealed)).toThrow('cannot be decrypted');
});

test('another session secret opens nothing', () => {
  const other = createSealer('another session secret, 32 bytes or more');
  expect(() => other.open(context, sealer.seal(context, 'secret'))).toThrow('SESSION_SECRET');
});
