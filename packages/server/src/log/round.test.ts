import { createHash } from 'node:crypto';
import { formatCheckpoint, formatNote } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { logIdOf, originOf, readRound, roundName, writeRound } from './round.ts';

const at = '2025-09-03T10:00:00.000Z';
const root = createHash('sha256').update('root').digest();

function noteOf(origin: string, size: number): string {
  const signature = { name: origin, keyId: Buffer.alloc(4, 1), signature: Buffer.alloc(64, 2) };
  return formatNote(formatCheckpoint({ origin, size, root }), [signature]);
}

test('names of rounds sort as their numbers do, and no two rounds share one', () => {
  const round = fc.integer({ min: 1, max: 999_999_999_999 });
  fc.assert(
    fc.property(round, round, (a, b) => {
      expect(Math.sign(a - b)).toBe(
        roundName(a) < roundName(b) ? -1 : roundName(a) > roundName(b) ? 1 : 0,
      );
      expect(roundName(a)).toMatch(/^checkpoints\/\d{12}\.json$/);
    }),
  );
});

test('what a round wrote is read again, with the log each checkpoint is of', () => {
  const log = fc.tuple(fc.uuid(), fc.integer({ min: 0, max: 2 ** 40 }));
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10 ** 9 }),
      fc.array(log, { maxLength: 5 }),
      (round, logs) => {
        const notes = logs.map(([logId, size]) =>
          noteOf(originOf('audit.example.com:8443', logId), size),
        );
        const read = readRound(round, writeRound({ round, at, notes }));
        expect(read.map(({ logId, checkpoint }) => [logId, checkpoint.size])).toEqual(logs);
        expect(read.map(({ note }) => note)).toEqual(notes);
      },
    ),
  );
});

test('an object that no round of this number wrote is refused by its name', () => {
  const note = noteOf(originOf('a.example', '01234567-89ab-cdef-0123-456789abcdef'), 7);
  const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const wrong = [
    json({ round: 6, at, notes: [note] }),
    json({ at, notes: [note] }),
    json({ round: 7, at }),
    json({ round: 7, at, notes: [7] }),
    json({ round: 7, at, notes: [note.replace('\n7\n', '\n-7\n')] }),
    json({ round: 7, at, notes: [noteOf('a.example/l/else', 7)] }),
    json(null),
    writeRound({ round: 7, at, notes: [note] }).subarray(0, 60),
    new Uint8Array(),
  ];
  expect(readRound(7, json({ round: 7, at, notes: [note] }))).toHaveLength(1);
  for (const bytes of wrong) {
    expect(() => readRound(7, bytes)).toThrow(/checkpoints\/000000000007\.json .*no round/);
  }
});

test('an origin names its log and nothing else', () => {
  fc.assert(
    fc.property(fc.uuid(), (logId) => {
      const origin = originOf('audit.example.com', logId);
      expect(origin).toMatch(/^audit\.example\.com\/l\/[0-9a-f]{32}$/);
      expect(logIdOf(origin)).toBe(logId);
    }),
  );
  for (const other of [
    'audit.example.com',
    'a/l/0123',
    `a/l/${'0'.repeat(32)}/`,
    `a/m/${'0'.repeat(32)}`,
  ]) {
    expect(logIdOf(other), other).toBeNull();
  }
});
