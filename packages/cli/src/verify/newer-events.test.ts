import { expect, onTestFinished, test } from 'vitest';
import { NewerLines, statedSequence } from './newer-events.ts';

const line = (sequence: number, diff = '{}') =>
  Buffer.from(
    `{"event":{"diff":${diff},"hasState":false,"sequence":${sequence},"receivedAt":"2026-01-01T00:00:00.000Z",` +
      '"recordedBy":{"kind":"api_key","id":"x"}},"salts":{"change":"00"}}',
  );

test('the sequence is the one of the event, whatever its content says', () => {
  expect(statedSequence(line(0))).toBe(0);
  expect(statedSequence(line(8_999_999_999_999))).toBe(8_999_999_999_999);
  expect(statedSequence(line(7, '{"\\"sequence\\":9":{"from":"\\"sequence\\":1","to":2}}'))).toBe(
    7,
  );
  expect(statedSequence(line(7, '{"a":{"sequence":1}}'))).toBe(7);
  expect(statedSequence(Buffer.from('{"event":{}}'))).toBeNaN();
});

test('lines behind the checkpoint are put aside, and those that say nothing about it', () => {
  const lines = new NewerLines(100);
  onTestFinished(() => lines.close());
  const odd = Buffer.from('no event');
  for (const each of [line(99), line(100), line(0), odd, line(2_000)]) lines.look(each);
  expect(lines.count).toBe(3);
  const kept = [...lines.lines()].map((each) => Buffer.from(each).toString());
  expect(kept).toEqual([line(100), odd, line(2_000)].map(String));
});

test('nothing put aside is nothing to read', () => {
  const lines = new NewerLines(100);
  onTestFinished(() => lines.close());
  expect([...lines.lines()]).toEqual([]);
});
