import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  checkpointNote,
  checkpointOf,
  newKey,
  origin,
  recordPlain,
  sha,
  signedNote,
  vkeyOf,
  vkeys,
} from '../testing/recorded-log.ts';
import { anyInput, parsedOrRefused, withOneByteChanged } from '../testing/tampering.ts';
import { FormatError, formatBase64 } from './bytes.ts';
import {
  type Checkpoint,
  compareCheckpoints,
  formatCheckpoint,
  openCheckpoint,
  parseCheckpoint,
} from './checkpoint.ts';
import { emptyRoot, subtreeRoot } from './merkle.ts';
import { consistencyProof } from './merkle-proofs.ts';
import { parseNote } from './signed-note.ts';

const log = recordPlain(11);
const note = checkpointNote(log);

test('the example of C2SP tlog-checkpoint is read and written the same', () => {
  const text =
    'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
  const signature =
    '— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n';
  const checkpoint = parseCheckpoint(parseNote(`${text}\n${signature}`).text);
  expect(checkpoint).toMatchObject({ origin: 'example.com/behind-the-sofa', size: 20852163 });
  expect(formatBase64(checkpoint.root)).toBe('CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=');
  expect(formatCheckpoint(checkpoint)).toBe(text);
});

test('a checkpoint has three lines, a plain size and a whole root, or it is refused', () => {
  const root = formatBase64(new Uint8Array(32));
  for (const text of [
    '',
    `\n1\n${root}\n`,
    `o\n1\n${root}`,
    `o\n1\n${root}\n\n`,
    `o\n1\n${root}\nan extension line\n`,
    `o\n01\n${root}\n`,
    `o\n+1\n${root}\n`,
    `o\n-1\n${root}\n`,
    `o\n1.0\n${root}\n`,
    `o\n 1\n${root}\n`,
    `o\n٣\n${root}\n`,
    `o\n9007199254740992\n${root}\n`,
    `o\n18446744073709551616\n${root}\n`,
    `o\n1\n${root.slice(4)}\n`,
    `o\n1\n${'A'.repeat(44)}\n`,
    `o\n1\n${root.slice(0, -2)}B=\n`,
    `${'o'.repeat(1001)}\n1\n${root}\n`,
  ]) {
    expect(() => parseCheckpoint(text), text).toThrow(FormatError);
  }
  const largest = parseCheckpoint(`o\n9007199254740991\n${root}\n`);
  expect(largest.size).toBe(Number.MAX_SAFE_INTEGER);
});

test('a value that cannot be read back is not written', () => {
  const good = { origin, size: 3, root: new Uint8Array(32) };
  for (const change of [
    { origin: '' },
    { origin: 'two\nlines' },
    { size: -1 },
    { size: 0.5 },
    { size: 2 ** 53 },
    { root: new Uint8Array(31) },
  ]) {
    expect(() => formatCheckpoint({ ...good, ...change })).toThrow(FormatError);
  }
});

test('any text is read as what would be written, or refused', () => {
  fc.assert(
    fc.property(anyInput(formatCheckpoint(checkpointOf(log))), (input) => {
      const text = typeof input === 'string' ? input : Buffer.from(input).toString('latin1');
      const checkpoint = parsedOrRefused(() => parseCheckpoint(text));
      if (checkpoint !== null) expect(formatCheckpoint(checkpoint)).toBe(text);
    }),
  );
});

test('a checkpoint signed by a key of its log is valid, and the verdict names it', async () => {
  const opened = await openCheckpoint(sha, note, vkeys);
  expect(opened).toMatchObject({ code: 'valid', checkpoint: checkpointOf(log) });
  expect(opened.message).toBe(
    `The checkpoint ${origin} of size 11 is signed by the key of its log.`,
  );
});

test('a key of another log, an unknown key and a wrong signature are told apart', async () => {
  const key = newKey();
  const text = formatCheckpoint(checkpointOf(log));
  const code = async (note: string, keys = vkeys) => (await openCheckpoint(sha, note, keys)).code;
  expect(await code(note, [])).toBe('unknown_key');
  expect(await code(signedNote(text, origin, key))).toBe('unknown_key');
  expect(await code(signedNote(text, origin, key), [vkeyOf(origin, key)])).toBe('valid');
  // A trusted key, but of another log: its owner must not speak for this one.
  const other = signedNote(text, 'other.example', key);
  expect(await code(other, [...vkeys, vkeyOf('other.example', key)])).toBe('unknown_key');
  expect(await code(note.replace('\n11\n', '\n12\n'))).toBe('bad_signature');
  expect(await code(signedNote('not a checkpoint\n'))).toBe('malformed_checkpoint');
  expect(await code('')).toBe('malformed_checkpoint');
  await expect(openCheckpoint(sha, note, ['no vkey'])).rejects.toThrow(FormatError);
});

test('a signed checkpoint with any byte changed is not valid', async () => {
  for (const changed of withOneByteChanged(new TextEncoder().encode(note))) {
    expect((await openCheckpoint(sha, changed, vkeys)).code).not.toBe('valid');
  }
});

test('no input to the opening of a checkpoint throws or passes for valid', async () => {
  await fc.assert(
    fc.asyncProperty(anyInput(note), async (input) => {
      const { code } = await openCheckpoint(sha, input, vkeys);
      const text = typeof input === 'string' ? input : Buffer.from(input).toString();
      expect(code === 'valid').toBe(text === note);
    }),
  );
});

async function pathBetween(first: number, second: number): Promise<Uint8Array[]> {
  const leaves = log.map(({ leaf }) => leaf);
  const getNode = async (level: number, index: number) =>
    subtreeRoot(sha, leaves.slice(index * 2 ** level, (index + 1) * 2 ** level));
  return consistencyProof(sha, getNode, first, second);
}

test('a log that went on is told from one that was rolled back, forked or replaced', async () => {
  const at = (size: number): Checkpoint => checkpointOf(log.slice(0, size));
  const compare = async (seen: Checkpoint, shown: Checkpoint, path?: Uint8Array[]) => {
    const made = seen.size <= shown.size ? await pathBetween(seen.size, shown.size) : [];
    return compareCheckpoints(sha, seen, shown, path ?? made).code;
  };
  expect(await compare(at(5), at(11))).toBe('extends');
  expect(await compare({ origin, size: 0, root: emptyRoot(sha) }, at(11))).toBe('extends');
  expect(await compare(at(11), at(11))).toBe('same');
  expect(await compare(at(11), at(5))).toBe('rolled_back');
  expect(await compare({ ...at(5), origin: 'other.example' }, at(11))).toBe('other_log');
  const rewritten = { ...at(5), root: at(6).root };
  expect(await compare(rewritten, at(5))).toBe('forked');
  expect(await compare(rewritten, at(11))).toBe('inconsistent');
  expect(await compare(at(5), at(11), [])).toBe('inconsistent');
});
