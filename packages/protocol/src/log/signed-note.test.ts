import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sha } from '../testing/recorded-log.ts';
import { anyInput, parsedOrRefused, withOneByteChanged } from '../testing/tampering.ts';
import { FormatError, formatHex } from './bytes.ts';
import {
  formatNote,
  formatVerifierKey,
  noteKeyId,
  parseNote,
  parseVerifierKey,
  verifyNote,
} from './signed-note.ts';

// The example of c2sp.org/signed-note, section "Verifier keys".
const fooKey = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k';
const fooNote =
  'This is an example message.\n\n' +
  '— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n';

// Keys and signatures of golang.org/x/mod/sumdb/note, note_test.go.
const peterKey = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const enochKey = 'EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop';
const text =
  'If you think cryptography is the answer to your problem,\n' +
  "then you don't know what your problem is.\n";
const peter =
  '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';
const enoch =
  '— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n';
/** Four more digits within the base64: a signature of another length. */
const broken = (line: string) => `${line.slice(0, 60)}ABCD${line.slice(60)}`;

const verdict = (note: string, ...vkeys: string[]) => verifyNote(sha, parseNote(note), vkeys);

test('the example of C2SP signed-note is read, and verified with its key', async () => {
  const note = parseNote(fooNote);
  expect(note.text).toBe('This is an example message.\n');
  expect(note.signatures.map(({ name, keyId }) => [name, formatHex(keyId)])).toEqual([
    ['example.com/foo', '530d903a'],
  ]);
  expect(await verdict(fooNote, fooKey)).toBe('valid');
  expect(formatNote(note.text, note.signatures)).toBe(fooNote);
});

test('a text with empty lines, as in the first example of C2SP, ends at the last of them', () => {
  const poem =
    'Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n';
  const note = `${poem}\n— quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n`;
  expect(parseNote(note).text).toBe(poem);
  expect(parseNote(new TextEncoder().encode(note))).toEqual(parseNote(note));
});

test('the notes of golang.org/x/mod/sumdb/note get the verdicts they get there', async () => {
  const both = `${text}\n${peter}${enoch}`;
  expect(await verdict(both, peterKey)).toBe('valid');
  expect(await verdict(both, peterKey, enochKey)).toBe('valid');
  expect(await verdict(both)).toBe('unknown_key');
  expect(await verdict(`${text}\n${peter}`, enochKey, peterKey, enochKey)).toBe('valid');
  expect(await verdict(`${text}\n${broken(peter)}`, peterKey)).toBe('bad_signature');
  const repeated = `${text}\n${peter}${peter}${enoch}${enoch}${broken(enoch)}`;
  expect(await verdict(repeated, peterKey)).toBe('valid');
  expect(await verdict(repeated, peterKey, enochKey)).toBe('bad_signature');
  const misnamed = `${text}\n${peter.replace('PeterNeumann', 'CarmenSandiego')}`;
  expect(await verdict(misnamed, peterKey)).toBe('unknown_key');
  expect(await verdict(`${text}\n${peter.replace('x08g', 'xxxx')}`, peterKey)).toBe('unknown_key');
});

test('a note that golang.org/x/mod/sumdb/note calls malformed is refused', () => {
  const latin1 = (note: string) => new Uint8Array(Buffer.from(note, 'latin1'));
  const malformed = [
    text,
    `${text}\n`,
    `${text}\n${peter.slice(0, -1)}`,
    `\x01${text}\n${peter}`,
    latin1(`\xff${text}\n\xe2\x80\x94${peter.slice(1)}`),
    `${text}\n${peter.replace('PeterNeumann', 'Bad Name')}`,
    `${text}\n${peter}Unexpected line.\n`,
    `${text}\n${peter.repeat(101)}`,
  ];
  for (const note of malformed) expect(() => parseNote(note)).toThrow(FormatError);
  expect(parseNote(`${text}\n${peter.repeat(100)}`).signatures).toHaveLength(100);
});

test('more that is no note is refused', () => {
  const line = (name: string, base64: string) => `${text}\n— ${name} ${base64}\n`;
  const malformed = [
    '',
    '\n',
    '\n\n',
    `${text}${peter}`,
    `${text}\n${peter}\n`,
    `${text}\n${peter.replace('\n', '\r\n')}`,
    `${text}\n${peter.slice(2)}`,
    line('', 'AAAAAAA='),
    line('a+b', 'AAAAAAA='),
    line('a\u00a0b', 'AAAAAAA='),
    line('a\u0085b', 'AAAAAAA='),
    line('a', 'AAAA'),
    line('a', 'AAAAAAB='),
    line('a', 'AAAAAA'),
    `${'x'.repeat(1_000_000)}\n\n${peter}`,
    `\ud800${text}\n${peter}`,
  ];
  for (const note of malformed) expect(() => parseNote(note)).toThrow(FormatError);
});

test('a vkey line is read back as it was written, with the id of C2SP', () => {
  for (const vkey of [fooKey, peterKey, enochKey]) {
    const { name, keyId, publicKey } = parseVerifierKey(sha, vkey);
    expect(formatVerifierKey(sha, name, publicKey)).toBe(vkey);
    expect(noteKeyId(sha, name, publicKey)).toEqual(keyId);
  }
});

test('every mangling that golang.org/x/mod/sumdb/note tries on a vkey is refused', () => {
  const refused = (vkey: string) => expect(() => parseVerifierKey(sha, vkey)).toThrow(FormatError);
  for (let start = 0; start < peterKey.length; start += 1) {
    for (let end = start + 1; end <= peterKey.length; end += 1) {
      if (end - start < peterKey.length) refused(peterKey.slice(start, end));
    }
    const next = String.fromCharCode(peterKey.charCodeAt(start) + 1);
    refused(peterKey.slice(0, start) + next + peterKey.slice(start + 1));
  }
  // Another length and another algorithm, each with the id that goes with it.
  refused('PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==');
  refused('PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW');
});

test('any text is the vkey that would be written, or refused', () => {
  const damaged = anyInput(peterKey).map((input) =>
    typeof input === 'string' ? input : Buffer.from(input).toString('latin1'),
  );
  fc.assert(
    fc.property(damaged, (vkey) => {
      const key = parsedOrRefused(() => parseVerifierKey(sha, vkey));
      if (key !== null) expect(formatVerifierKey(sha, key.name, key.publicKey)).toBe(vkey);
    }),
  );
});

test('a malformed vkey is an error of the caller, never a verdict', async () => {
  await expect(verdict(fooNote, 'example.com/foo')).rejects.toThrow(FormatError);
});

test('a note with any byte changed is not valid', async () => {
  for (const changed of withOneByteChanged(new TextEncoder().encode(fooNote))) {
    const note = parsedOrRefused(() => parseNote(changed));
    if (note !== null) expect(await verifyNote(sha, note, [fooKey])).not.toBe('valid');
  }
});

test('a note is written only as it can be read, and anything read is written the same', () => {
  const [signature] = parseNote(fooNote).signatures;
  if (!signature) throw new Error('the example has a signature');
  expect(() => formatNote('no newline', [signature])).toThrow(FormatError);
  expect(() => formatNote('text\n', [])).toThrow(FormatError);
  expect(() => formatNote('text\n', [{ ...signature, name: 'a b' }])).toThrow(FormatError);
  const keyId = Uint8Array.of(1, 2, 3);
  expect(() => formatNote('text\n', [{ ...signature, keyId }])).toThrow(FormatError);
  fc.assert(
    fc.property(anyInput(fooNote), (input) => {
      const note = parsedOrRefused(() => parseNote(input));
      if (note === null) return;
      const source = typeof input === 'string' ? input : Buffer.from(input).toString();
      expect(formatNote(note.text, note.signatures)).toBe(source);
    }),
  );
});
