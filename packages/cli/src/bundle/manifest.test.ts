import { FormatError } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseManifest } from './manifest.ts';

const manifest = {
  format: 'indelible-bundle/v1',
  tenantId: '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24',
  origin: 'audit.example.com/l/00112233445566778899aabbccddeeff',
  size: 7,
  madeAt: '2026-01-01T00:00:00.000Z',
  filter: {},
  range: { from: null, to: null },
  withheld: ['identity'],
  plan: 'Pro',
  cutoff: '2025-01-01T00:00:00.000Z',
  counts: { entries: 7, events: 5 },
  sha256: { checkpoint: 'a'.repeat(64) },
};

test('a manifest is read back, and one with any other value in a field is refused by name', () => {
  expect(parseManifest(JSON.stringify(manifest))).toEqual(manifest);
  const wrong = {
    format: 'indelible-bundle/v2',
    tenantId: '../x',
    origin: null,
    size: -1,
    madeAt: 'soon',
    filter: { user: ['x'] },
    range: { from: '2026-01-01', to: null },
    withheld: ['event'],
    plan: 7,
    cutoff: 'yesterday',
    counts: { entries: 1 },
    sha256: { a: 'b' },
  };
  for (const [name, value] of Object.entries(wrong)) {
    const text = JSON.stringify({ ...manifest, [name]: value });
    expect(() => parseManifest(text), name).toThrow(new RegExp(`no valid ${name}`));
  }
});

test('a file of any content is read, or refused as a file of another form', () => {
  const text = JSON.stringify(manifest);
  fc.assert(
    fc.property(fc.nat(text.length), fc.string(), fc.nat(20), (at, inserted, removed) => {
      try {
        parseManifest(text.slice(0, at) + inserted + text.slice(at + removed));
      } catch (error) {
        expect(error).toBeInstanceOf(FormatError);
      }
    }),
  );
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(() => parseManifest(json)).toThrow(FormatError);
    }),
  );
});
