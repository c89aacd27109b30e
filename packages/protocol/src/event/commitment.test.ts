import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainEvent, sha } from '../testing/recorded-log.ts';
import { commitmentOf, commitmentOfHashes, saltBytes, segmentHash } from './commitment.ts';
import { segmentNames } from './event-fields.ts';
import { segmentTexts } from './event-texts.ts';

const name = (index: number) => segmentNames[index] ?? '';
const sized = (text: string) => Buffer.concat([Uint8Array.of(text.length), Buffer.from(text)]);

test('a segment hash is over prefix, name, salt and text, whatever was hashed before', () => {
  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant('ü€😀'.repeat(3000)));
  const salt = fc.uint8Array({ minLength: saltBytes, maxLength: saltBytes });
  fc.assert(
    fc.property(fc.nat(3), salt, text, (index, salt, text) => {
      const parts = [Buffer.from('audit-seg/v1\n'), sized(name(index)), salt, Buffer.from(text)];
      expect(segmentHash(sha, index, salt, text)).toEqual(sha(Buffer.concat(parts)));
    }),
  );
  expect(() => segmentHash(sha, 4, new Uint8Array(16), '')).toThrow(RangeError);
});

test('a commitment is over the segment hashes with their names, three or four of them', () => {
  for (const state of [null, '{"a":1}']) {
    const texts = segmentTexts(plainEvent(0, { after: state }));
    const salts = Uint8Array.from({ length: texts.length * saltBytes }, (_, at) => at);
    const hashes = texts.map((text, index) =>
      segmentHash(sha, index, salts.subarray(index * 16, index * 16 + 16), text),
    );
    const parts = hashes.flatMap((hash, index) => [sized(name(index)), hash]);
    const expected = sha(Buffer.concat([Buffer.from('audit-content/v1\n'), ...parts]));
    expect(commitmentOf(sha, texts, salts)).toEqual(expected);
    expect(commitmentOfHashes(sha, hashes)).toEqual(expected);
  }
  const five = Array.from({ length: 5 }, () => new Uint8Array(32));
  expect(() => commitmentOfHashes(sha, five)).toThrow(RangeError);
});

test('the texts hold id and timestamp as they were shown', () => {
  const event = plainEvent(0);
  const [, text = ''] = segmentTexts(event);
  const { id, timestamp } = JSON.parse(text);
  expect(segmentTexts(event, id, timestamp)).toEqual(segmentTexts(event));
  expect(segmentTexts(event, id, 'another')[1]).toBe(text.replace(timestamp, 'another'));
  expect(JSON.parse(segmentTexts(event, '","x":"', timestamp)[1] ?? '').id).toBe('","x":"');
});
