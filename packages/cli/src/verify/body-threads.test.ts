import { entryBytes } from '@indelible/protocol';
import { expect, onTestFinished, test } from 'vitest';
import {
  checkpointOf,
  entriesOf,
  recordPlain,
  serviceLine,
  tenantId,
} from '../../../protocol/src/testing/recorded-log.ts';
import { comparedChunks } from './body-threads.ts';
import { EntryFile, Reading } from './entry-file.ts';
import { bodyLineBytesMax, readBodies } from './log-bodies.ts';

const log = recordPlain(600);
const lines = log.map(serviceLine);
const line = (at: number) => lines[at] ?? '';

function entryFile(): EntryFile {
  const file = new EntryFile();
  onTestFinished(() => file.close());
  file.append(entriesOf(log));
  return file;
}

/** The bytes of a text in pieces of these many bytes, the last size again and again. */
async function* chunksOf(text: string, sizes: readonly number[]) {
  const bytes = Buffer.from(text);
  for (let at = 0, n = 0; at < bytes.length; n += 1) {
    const size = sizes[Math.min(n, sizes.length - 1)] ?? 1;
    yield { bytes: bytes.subarray(at, at + size), cutoffMs: null };
    at += size;
  }
}

/** What is found in a file of bodies, and what was counted. */
async function found(text: string, threads: number) {
  const reading = new Reading();
  onTestFinished(() => reading.close());
  reading.file.append(entriesOf(log));
  const chunks = chunksOf(text, [7_001]);
  const wanted = { checkpoint: checkpointOf(log), tenantId, threads, chunks };
  const bodies = await readBodies(reading, wanted);
  const { counts } = bodies.finish({ nowMs: 0, statedPlan: null, knownPlan: null });
  return { counts, kept: reading.findings.kept() };
}

const changed = (at: number, from: string, to: string) => line(at).replace(from, to);

/** A change of each kind, to the lines of as many events. */
const damage: readonly string[][] = [
  [changed(0, 'Sales', 'Salts')],
  [],
  [line(2), line(2)],
  [changed(3, '"sequence":3,', '"sequence":4,')],
  [changed(4, '"sequence":4,', '"sequence":3,')],
  [changed(5, '"sequence":5,', '"sequence":600,')],
  [changed(6, '"receivedAt":"2', '"receivedAt":"1')],
  [changed(7, tenantId, tenantId.replace('0', '1'))],
  [changed(8, 'evt_audit_0', 'evt_audit_1')],
  [changed(9, '"hasState":false', '"hasState":true')],
  [changed(10, '"reason":null', '"reason":null,"note":1')],
  [changed(11, '"event"', ' "event"')],
  ['', 'null', '{"event":{}}', `\ufeff${line(12)}`],
  [`${line(13)}\r`],
  [`x${line(14)}`],
  [`${' '.repeat(bodyLineBytesMax)}${line(15)}`],
];

test('threads find each kind of damage where one thread finds it, in the same words', async () => {
  const rest = lines.slice(damage.length);
  const text = [...damage.flat(), ...rest].join('\n'); // its last line has no end
  const alone = await found(text, 0);
  expect(alone.kept.map(({ code, sequence }) => `${sequence} ${code}`)).toEqual([
    ...['0 content_mismatch', '2 repeated_body', '4 other_event', '3 other_event'],
    ...['600 beyond_checkpoint', '6 derived_field_mismatch', '7 content_mismatch'],
    ...['8 other_event', '9 derived_field_mismatch', '10 malformed_body'],
    ...Array(6).fill('null malformed_body'),
    ...[1, 5, 12, 14, 15].map((at) => `${at} missing_body`),
  ]);
  expect(await found(text, 2)).toEqual(alone);
});

test('threads compare each line that is whole in its chunk, and leave the others', async () => {
  const text = lines.map((each) => `${each}\n`).join('');
  const half = line(0).length + 1 + line(1).length / 2;
  // The third chunk begins in a line, with what would be a line of its own.
  const tricked = `${line(0)}\n${line(1)}\nx${line(2)}\n${line(3)}\n`;
  const atTrick = line(0).length + line(1).length + 3;
  const compared = async (all: string, sizes: readonly number[]) => {
    const wanted = { file: entryFile(), size: log.length, tenantId, threads: 1 };
    const found: (readonly number[])[] = [];
    for await (const { intact } of comparedChunks({ ...wanted, chunks: chunksOf(all, sizes) })) {
      found.push(intact);
    }
    return found;
  };
  expect(await compared(text, [text.length])).toEqual([lines.map((_, at) => at)]);
  expect((await compared(text, [Math.floor(half), text.length])).flat().slice(0, 3)).toEqual([
    ...[0, -1, 2],
  ]);
  expect(await compared(tricked, [atTrick, tricked.length])).toEqual([
    [0, 1],
    [-1, 3],
  ]);
});

test('threads compare lines with the entries that come beside them, and with no others', async () => {
  async function* chunks() {
    const text = [2, 3, 4, 1].map((at) => `${line(at)}\n`).join('');
    const bytes = entriesOf(log).slice(2 * entryBytes, 4 * entryBytes);
    yield { bytes: Buffer.from(text), cutoffMs: null, entries: { first: 2, bytes } };
  }
  const wanted = { file: new EntryFile(), size: log.length, tenantId, threads: 1 };
  for await (const { intact } of comparedChunks({ ...wanted, chunks: chunks() })) {
    expect(intact).toEqual([2, 3, -1, -1]);
  }
  expect.assertions(1);
});

test('the failure of a thread is told, also while it has several chunks', async () => {
  const [file, chunks] = [new EntryFile(), chunksOf(lines.join('\n'), [7_001])];
  const all = comparedChunks({ file, size: log.length, tenantId, threads: 1, chunks });
  const read = async () => {
    for await (const _ of all);
  };
  await expect(read()).rejects.toThrow('entry 0 has not been kept');
});
