import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { proofJson, type RecordedEvent, recordPlain, sha, vkeys } from '../testing/recorded-log.ts';
import { anyInput, parsedOrRefused, withOneByteChanged } from '../testing/tampering.ts';
import { parseEventProof, tlogProofOf } from '../verify/event-proof.ts';
import { FormatError, formatBase64 } from './bytes.ts';
import { formatTlogProof, parseTlogProof, type TlogProof, verifyTlogProof } from './tlog-proof.ts';

const log = recordPlain(13);
const recorded = log[6] as RecordedEvent;
const leaf = { sequence: 6, leafHash: recorded.leaf };
let proof: TlogProof;
let text: string;

beforeAll(async () => {
  proof = tlogProofOf(parseEventProof(await proofJson(log, recorded)));
  text = formatTlogProof(proof);
});

// c2sp.org/tlog-proof shows this proof; its signatures are cut short there, so these are others.
const example = `c2sp.org/tlog-proof@v1
extra YWdlLXYxLjIuMS1kYXJ3aW4tYXJtNjQudGFyLmd6kYXJ3aW4tYXJ
index 73894
gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=
B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=
EKNzoDWG8LGC0Yp9o+sv3qllpMP9uHQ9B20KNL+Q1zs=
RoopEkOdqkYqMB4MJXrbt/hMjOxsVn0IrWjpz1ZMMes=
AHCioX9nLjsrse6YhjRRmk1WUEirVOLLRoOQ6vfO5vk=

example.com/fancylog
109482
sFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=

— example.com/fancylog AAAAAAAA
`;

test('the form of C2SP tlog-proof is read part by part and written the same', () => {
  const read = parseTlogProof(example);
  expect(read.index).toBe(73894);
  expect(read.path).toHaveLength(5);
  expect(read.checkpoint.startsWith('example.com/fancylog\n109482\n')).toBe(true);
  expect(Buffer.from(read.extra ?? []).toString('latin1')).toMatch(/^age-v1\.2\.1-darwin-arm64/);
  expect(formatTlogProof(read)).toBe(example);
  const { extra, ...withoutExtra } = read;
  expect(extra).toBeDefined();
  expect(formatTlogProof(withoutExtra)).toBe(example.replace(/extra .*\n/, ''));
});

test('a proof of a log of one entry has no hashes', async () => {
  const [only] = log as [RecordedEvent];
  const single = tlogProofOf(parseEventProof(await proofJson([only], only)));
  expect(single.path).toEqual([]);
  expect(parseTlogProof(formatTlogProof(single))).toEqual(single);
  const claim = { sequence: 0, leafHash: only.leaf };
  expect((await verifyTlogProof(sha, single, claim, vkeys)).code).toBe('valid');
});

test('what is not of the form is refused', () => {
  const hash = formatBase64(new Uint8Array(32));
  for (const malformed of [
    '',
    example.replace('@v1', '@v2'),
    `\n${example}`,
    `\ufeff${example}`,
    example.replace('index 73894', 'index 073894'),
    example.replace('index 73894', 'index -1'),
    example.replace('index 73894', 'index 9007199254740992'),
    example.replace('index 73894\n', ''),
    example.replace('index 73894', 'index  73894'),
    example.replace('extra ', 'more '),
    example.replace('Lmd6', 'Lmd6='),
    example.replace('extra ', 'extra\textra '),
    example.replace('+Q1zs=', '+Q1zs'),
    example.replace('\n\n', '\n'),
    example.replace('\n\n', '\r\n\r\n'),
    example.replace('\n\n', `\n${hash}`.repeat(59)),
    'x'.repeat(1_100_000),
  ]) {
    if (malformed === example) throw new Error('a replacement found nothing to replace');
    expect(() => parseTlogProof(malformed), malformed.slice(0, 300)).toThrow(FormatError);
  }
});

test('any input is read as what would be written, or refused', () => {
  fc.assert(
    fc.property(anyInput(text), (input) => {
      const read = parsedOrRefused(() => parseTlogProof(input));
      if (read === null) return;
      const source = typeof input === 'string' ? input : Buffer.from(input).toString();
      expect(formatTlogProof(read)).toBe(source);
    }),
  );
});

test('a receipt is held against a proof: same leaf and same place, or it fails', async () => {
  const code = async (claim: typeof leaf, keys = vkeys) =>
    (await verifyTlogProof(sha, proof, claim, keys)).code;
  expect(await code(leaf)).toBe('valid');
  expect(await code({ ...leaf, sequence: 7 })).toBe('not_included');
  expect(await code({ ...leaf, leafHash: (log[7] as RecordedEvent).leaf })).toBe('not_included');
  expect(await code({ ...leaf, leafHash: new Uint8Array(31) })).toBe('not_included');
  expect(await code(leaf, [])).toBe('unknown_key');
});

test('a proof with any byte changed is not valid', async () => {
  for (const changed of withOneByteChanged(new TextEncoder().encode(text))) {
    const read = parsedOrRefused(() => parseTlogProof(changed));
    if (read === null) continue;
    expect((await verifyTlogProof(sha, read, leaf, vkeys)).code).not.toBe('valid');
  }
});

test('the verdict says against which checkpoint, and what', async () => {
  const { message } = await verifyTlogProof(sha, proof, leaf, vkeys);
  expect(message).toBe(
    'Against checkpoint audit.example.com/l/00112233445566778899aabbccddeeff of size 13: ' +
      'this is entry 6 of that log.',
  );
});
