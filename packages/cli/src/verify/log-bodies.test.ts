import { expect, onTestFinished, test } from 'vitest';
import {
  checkpointOf,
  entriesOf,
  recordPlain,
  serviceLine,
  tenantId,
} from '../../../protocol/src/testing/recorded-log.ts';
import { Reading } from './entry-file.ts';
import { bodyLineBytesMax, readBodies } from './log-bodies.ts';

const log = recordPlain(600);
const lines = log.map(serviceLine);
const line = (at: number) => lines[at] ?? '';

/** The bytes of a text in pieces of these many bytes. */
async function* chunksOf(text: string, size: number) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) {
    yield { bytes: bytes.subarray(at, at + size), cutoffMs: null };
  }
}

/** What is found in a file of bodies, and what was counted. */
async function found(text: string, chunkBytes: number) {
  const reading = new Reading();
  onTestFinished(() => reading.close());
  reading.file.append(entriesOf(log));
  const chunks = chunksOf(text, chunkBytes);
  const bodies = await readBodies(reading, { checkpoint: checkpointOf(log), tenantId, chunks });
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

test('each kind of damage is found, wherever a chunk of the file ends', async () => {
  const rest = lines.slice(damage.length);
  const text = [...damage.flat(), ...rest].join('\n'); // its last line has no end
  const whole = await found(text, text.length);
  expect(whole.kept.map(({ code, sequence }) => `${sequence} ${code}`)).toEqual([
    ...['0 content_mismatch', '2 repeated_body', '4 other_event', '3 other_event'],
    ...['600 beyond_checkpoint', '6 derived_field_mismatch', '7 content_mismatch'],
    ...['8 other_event', '9 derived_field_mismatch', '10 malformed_body'],
    ...Array(6).fill('null malformed_body'),
    ...[1, 5, 12, 14, 15].map((at) => `${at} missing_body`),
  ]);
  expect(whole.counts).toMatchObject({ bodies: 603, intact: 587 });
  expect(await found(text, 7_001)).toEqual(whole);
});
