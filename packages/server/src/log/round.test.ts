import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { formatCheckpoint, formatNote } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  logIdOf,
  originOf,
  type Round,
  readRound,
  roundBytesMax,
  roundName,
  roundOf,
  stateOf,
  writeRound,
} from './round.ts';

const at = '2025-09-03T10:00:00.000Z';
const sha = (data: Uint8Array): Buffer => hash('sha256', data, 'buffer');

function newSigner() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const bytes = new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32));
  return {
    publicKey: async () => bytes,
    sign: async (message: Uint8Array) => new Uint8Array(sign(null, message, privateKey)),
    bytes,
  };
}

const own = newSigner();
const write = (round: Round, signer = own) => writeRound(sha, [signer], round);
const read = (round: number, bytes: Uint8Array, keys = [own.bytes]) =>
  readRound(sha, round, bytes, { known: keys });

const root = hash('sha256', 'root', 'buffer');

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

test('no round is written that would be too long to be read', async () => {
  const round = { round: 1, at, state: root, isReopening: true };
  const notes = ['x'.repeat(roundBytesMax)];
  await expect(write({ ...round, notes })).rejects.toThrow('too many logs');
});

test('a written round is read again, with the log of each checkpoint', async () => {
  const log = fc.tuple(fc.uuid(), fc.integer({ min: 0, max: 2 ** 40 }));
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 10 ** 9 }),
      fc.array(log, { maxLength: 5 }),
      fc.boolean(),
      async (round, logs, isReopening) => {
        const notes = logs.map(([logId, size]) =>
          noteOf(originOf('audit.example.com:8443', logId), size),
        );
        const bytes = await write({ round, at, notes, state: root, isReopening });
        const back = await read(round, bytes, [newSigner().bytes, own.bytes]);
        expect(back).toMatchObject({ round, at, isReopening });
        expect(Buffer.from(back?.state ?? [])).toEqual(root);
        const checkpoints = back?.checkpoints ?? [];
        expect(checkpoints.map(({ logId, size }) => [logId, size])).toEqual(logs);
        expect(checkpoints.map(({ note }) => note)).toEqual(notes);
      },
    ),
    { numRuns: 30 },
  );
});

const note = noteOf(originOf('a.example', '01234567-89ab-cdef-0123-456789abcdef'), 7);
const sevenTh: Round = { round: 7, at, notes: [note, note], state: root, isReopening: false };

test('an object of which anything was changed, or that another key signed, is no round', async () => {
  const bytes = await write(sevenTh);
  const object = JSON.parse(new TextDecoder().decode(bytes));
  const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const wrong: Uint8Array[] = [
    json({ ...object, round: '7' }),
    json({ ...object, at: '2025-09-03T10:00:00.001Z' }),
    json({ ...object, notes: [note] }),
    json({ ...object, notes: [note, note.replace('\n7\n', '\n8\n')] }),
    json({ ...object, notes: [7, note] }),
    json({ ...object, notes: note }),
    json({ ...object, signed: undefined }),
    json({ ...object, signed: 7 }),
    json({ ...object, signed: note }),
    json({ ...object, signed: object.signed.replace('\n7\n', '\n7 reopened\n') }),
    json({ ...object, signed: `${object.signed}x` }),
    json(null),
    json([]),
    await write(sevenTh, newSigner()),
    bytes.subarray(0, 60),
    new Uint8Array(),
    Uint8Array.of(0xff, 0xfe),
  ];
  expect((await read(7, bytes))?.checkpoints).toHaveLength(2);
  expect(await read(8, bytes)).toBeNull();
  expect(await read(7, bytes, [])).toBeNull();
  for (const each of wrong) expect(await read(7, each), String(each.length)).toBeNull();
});

test('unsigned bytes are never a round', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.json(), async (bytes, text) => {
      expect(await read(7, bytes)).toBeNull();
      expect(await read(7, new TextEncoder().encode(text))).toBeNull();
    }),
  );
});

test('the state is that of the logs, in whatever order, and another one for any change', () => {
  const logs = ['1', '2', '3'].map((digit) => ({
    logId: `${digit.repeat(8)}-0000-4000-8000-000000000000`,
    size: 7,
    root,
    note,
  }));
  const state = Buffer.from(stateOf(sha, logs)).toString('hex');
  expect(Buffer.from(stateOf(sha, logs.toReversed())).toString('hex')).toBe(state);
  const [first, ...rest] = logs;
  if (!first) throw new Error('there are three');
  const others = [
    { size: 8 },
    { root: sha(root) },
    { note: `${note}x` },
    { logId: rest[0]?.logId ?? '' },
  ];
  for (const change of others) {
    expect(Buffer.from(stateOf(sha, [{ ...first, ...change }, ...rest])).toString('hex')).not.toBe(
      state,
    );
  }
  expect(Buffer.from(stateOf(sha, rest)).toString('hex')).not.toBe(state);
});

test('only names of rounds have a number', () => {
  expect(roundOf(roundName(42))).toBe(42);
  for (const name of [
    'checkpoints/42.json',
    'checkpoints/000000000042.json.tmp',
    'x/000000000042.json',
  ]) {
    expect(roundOf(name), name).toBeNull();
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
