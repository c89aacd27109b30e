import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FormatError } from '../log/bytes.ts';
import {
  checkpointOf,
  entriesOf,
  found,
  record,
  recordPlain,
  sha,
} from '../testing/recorded-log.ts';
import { EntryPass } from './entry-pass.ts';
import { createFindings, type Findings } from './findings.ts';

const log = recordPlain(300);
const checkpoint = checkpointOf(log);
const entries = entriesOf(log);

function verifyEntries(bytes: Uint8Array, earlier = [checkpointOf(log.slice(0, 0))]): Findings {
  const findings = createFindings();
  const pass = new EntryPass({ sha, findings, checkpoint, earlier });
  // In pieces of a tile, as they come.
  for (let at = 0; at < bytes.length; at += 256 * 60) pass.add(bytes.subarray(at, at + 256 * 60));
  pass.finish();
  expect(pass.size).toBe(bytes.length / 60);
  return findings;
}

test('undamaged entries pass', () => {
  expect(verifyEntries(entries).count()).toBe(0);
});

const swapEntries = (bytes: Uint8Array, a: number, b: number) => {
  const swapped = new Uint8Array(bytes);
  swapped.set(bytes.subarray(a * 60, a * 60 + 60), b * 60);
  swapped.set(bytes.subarray(b * 60, b * 60 + 60), a * 60);
  return swapped;
};

test('any byte changed in any entry gives another root', () => {
  fc.assert(
    fc.property(fc.nat(entries.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
      const changed = new Uint8Array(entries);
      changed[at] = (entries[at] ?? 0) ^ mask;
      expect(verifyEntries(changed).countByCode()).toMatchObject({ root_mismatch: 1 });
    }),
    { numRuns: 50 },
  );
});

test('entries swapped, lost, cut off, added or exchanged are found', () => {
  const cut = (from: number, to: number) =>
    new Uint8Array([...entries.subarray(0, from * 60), ...entries.subarray(to * 60)]);
  expect(verifyEntries(swapEntries(entries, 4, 5)).countByCode()).toEqual({ root_mismatch: 1 });
  const apart = verifyEntries(swapEntries(entries, 4, 200));
  expect(apart.countByCode()).toEqual({ root_mismatch: 1, receipt_goes_back: 2 });
  expect(apart.first()).toMatchObject({ sequence: 5 });
  expect(found(verifyEntries(cut(299, 300)))).toEqual(['299 missing_entries']);
  expect(found(verifyEntries(cut(0, 300)))).toEqual(['0 missing_entries']);
  expect(verifyEntries(cut(150, 151)).countByCode()).toMatchObject({ missing_entries: 1 });
  const longer = new Uint8Array([...entries, ...entries.subarray(-60)]);
  expect(found(verifyEntries(longer))).toEqual(['300 surplus_entries']);
});

test('an entry that is none is found at its place', () => {
  const versioned = new Uint8Array(entries);
  versioned[12 * 60] = 3;
  expect(found(verifyEntries(versioned))).toContain('12 malformed_entry');
  versioned[12 * 60] = 2; // a version that there is
  expect(verifyEntries(versioned).countByCode()).toEqual({ root_mismatch: 1 });
  expect(() => verifyEntries(entries.subarray(1))).toThrow(FormatError);
});

test('a log rewritten, truncated or forked is held against the checkpoints seen before', () => {
  const earlier = [5, 200, 299].map((size) => checkpointOf(log.slice(0, size)));
  expect(verifyEntries(entries, earlier).count()).toBe(0);
  // Rewritten from 250 on, and signed anew: only who has seen the old one notices.
  const events = log.map(({ event }, at) => (at < 250 ? event : { ...event, reason: 'forged' }));
  const forged = record(events);
  const findings = createFindings();
  const pass = new EntryPass({ sha, findings, checkpoint: checkpointOf(forged), earlier });
  pass.add(entriesOf(forged));
  pass.finish();
  expect(findings.countByCode()).toEqual({ earlier_root_mismatch: 1 });
  expect(findings.kept()[0]?.message).toContain(
    'the log was rewritten, or the service shows another log',
  );
});

test('an older checkpoint signed again for a truncated log is caught by the one seen before', () => {
  const short = log.slice(0, 100);
  const findings = createFindings();
  const earlier = [checkpoint];
  const pass = new EntryPass({ sha, findings, checkpoint: checkpointOf(short), earlier });
  pass.add(entriesOf(short));
  pass.finish();
  expect(found(findings)).toEqual(['100 missing_entries']);
});
