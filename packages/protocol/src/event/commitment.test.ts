import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainEvent, sha } from '../testing/recorded-log.ts';
import { commitmentOf, commitmentOfHashes, saltsLength, segmentHash } from './commitment.ts';
import { segmentNames } from './event-fields.ts';
import { segmentTexts } from './event-texts.ts';

const name = (index: number) => segmentNames[index] ?? '';
const sized = (text: string) => Buffer.concat([Uint8Array.of(text.length), Buffer.from(text)]);

test('a segment hash is over prefix, name, salt and text, whatever was hashed before', () => {
  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant('ü€😀'.repeat(3000)));
  const salt = fc.uint8Array({ minLength: 16, maxLength: 16 });
  fc.assert(
    fc.property(fc.nat(4), salt, text, (index, salt, text) => {
      const parts = [Buffer.from('audit-seg/v1\n'), sized(name(index)), salt, Buffer.from(text)];
      expect(segmentHash(sha, index, salt, text)).toEqual(sha(Buffer.concat(parts)));
    }),
  );
  expect(() => segmentHash(sha, 5, new Uint8Array(16), '')).toThrow(RangeError);
});

test('a commitment is over the segment hashes with their names, three to five of them', () => {
  for (const changes of [
    {},
    { after: '{"a":1}' },
    { context: '{}' },
    { context: '{}', after: '{}' },
  ]) {
    const texts = segmentTexts(plainEvent(0, changes));
    const salts = Uint8Array.from({ length: saltsLength(texts) }, (_, at) => at);
    expect(salts).toHaveLength(16 * (3 + Object.keys(changes).length));
    let at = 0;
    const hashes = texts.map((text, index) => {
      if (text === null) return null;
      at += 16;
      return segmentHash(sha, index, salts.subarray(at - 16, at), text);
    });
    const parts = hashes.flatMap((hash, index) => (hash ? [sized(name(index)), hash] : []));
    const expected = sha(Buffer.concat([Buffer.from('audit-content/v1\n'), ...parts]));
    expect(commitmentOf(sha, texts, salts)).toEqual(expected);
    expect(commitmentOfHashes(sha, hashes)).toEqual(expected);
  }
  const six = Array.from({ length: 6 }, () => new Uint8Array(32));
  expect(() => commitmentOfHashes(sha, six)).toThrow(RangeError);
});

test('the texts hold id and timestamp as they were shown', () => {
  const event = plainEvent(0);
  const text = segmentTexts(event)[2] ?? '';
  const { id, timestamp } = JSON.parse(text);
  expect(segmentTexts(event, id, timestamp)).toEqual(segmentTexts(event));
  expect(segmentTexts(event, id, 'another')[2]).toBe(text.replace(timestamp, 'another'));
  expect(JSON.parse(segmentTexts(event, '","x":"', timestamp)[2] ?? '').id).toBe('","x":"');
});
