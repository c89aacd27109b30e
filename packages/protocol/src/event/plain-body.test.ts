import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalize, type JsonObject } from '../json/canonical.ts';
import { FormatError } from '../log/format-error.ts';
import { bodyLine, plainEvent, type RecordedEvent, record } from '../testing/recorded-log.ts';
import { bodyLineOf, parseProvenJson } from './event-body.ts';
import { readPlainBody } from './plain-body.ts';

/** The line with its members in the order in which the service writes them. */
function serviceLine(recorded: RecordedEvent): string {
  const { event, salts } = JSON.parse(bodyLine(recorded));
  const { id, timestamp, tenantId, actor, action, resource, diff, crossTenant, reason, ...rest } =
    event;
  const { before, after, ...last } = rest;
  const texts = recorded.event;
  const first = JSON.stringify({ id, timestamp, tenantId, actor, action, resource }).slice(0, -1);
  const second = JSON.stringify({ crossTenant, reason }).slice(1, -1);
  const end = JSON.stringify(last).slice(1);
  return (
    `{"event":${first},"diff":${texts.diff},${second},"before":${texts.before},` +
    `"after":${texts.after},${end},"salts":${JSON.stringify(salts)}}`
  );
}

/** What the full reader makes of a line, or that it refuses it. */
function slowly(line: string) {
  try {
    return bodyLineOf(parseProvenJson(line));
  } catch (error) {
    if (error instanceof FormatError) return 'refused';
    throw error;
  }
}

const word = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.constant('a"b\\c\nd'));
const nullable = fc.option(word);
const object = fc
  .dictionary(word, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((value) => canonicalize(value as JsonObject));
const lines = fc
  .record({
    actorEmail: nullable,
    actorRole: word,
    actorIp: nullable,
    actorUserAgent: nullable,
    action: word,
    resourceName: nullable,
    diff: object,
    crossTenant: fc.boolean(),
    reason: nullable,
    before: fc.option(object),
    after: fc.option(object),
  })
  .map((changes) => record([plainEvent(3, changes)]).map(serviceLine)[0] ?? '');

test('whatever is read the short way, the full reader reads the same', () => {
  fc.assert(
    fc.property(lines, (line) => {
      const body = readPlainBody(line);
      if (body !== null) expect(body).toEqual(slowly(line));
      if (!line.includes('\\')) expect(body).not.toBeNull();
    }),
  );
});

const piece = fc.constantFrom(
  ...['', ' ', '"', '\\', '{', '}', ',', ':', '0', 'f', 'F', 'null', 'true', '\n', '\ud800', '\0'],
  ...['"reason":null,', ',"crossTenant":true', ',"sequence":1', '{}', '{"a":1}', '"state":""', 'é'],
);

test('of a damaged line too: no second way to write a body is taken for the first', () => {
  fc.assert(
    fc.property(lines, piece, fc.nat(), fc.nat({ max: 4 }), (line, inserted, seed, removed) => {
      const at = seed % line.length;
      const damaged = line.slice(0, at) + inserted + line.slice(at + removed);
      const body = readPlainBody(damaged);
      if (body !== null) expect(body).toEqual(slowly(damaged));
    }),
    { numRuns: 1_000 },
  );
});

test('each member twice is left to the reader that refuses it', () => {
  const state = { before: '{"before1":1}', after: '{"after1":2}' };
  const [line = ''] = record([plainEvent(3, state)]).map(serviceLine);
  expect(readPlainBody(line)).toEqual(slowly(line));
  const members = [...line.matchAll(/"\w+":(?=("[^"]*"|null|true|false|\d+|\{))/g)];
  expect(members.length).toBe(37);
  for (const { 0: name, 1: value, index } of members) {
    const repeated = `${name}${value === '{' ? '{}' : value},`;
    const twice = line.slice(0, index) + repeated + line.slice(index);
    expect([readPlainBody(twice), slowly(twice)]).toEqual([null, 'refused']);
  }
});

test('a line of millions of escapes is left to the full reader, which takes it', () => {
  const lineOf = (escapes: number) => {
    const diff = `{"a":"${'\\n'.repeat(escapes)}"}`;
    return record([plainEvent(3, { diff })]).map(serviceLine)[0] ?? '';
  };
  expect(readPlainBody(lineOf(4_000_000))).toBeNull();
  expect(slowly(lineOf(4_000_000))).not.toBe('refused');
  expect(readPlainBody(lineOf(500_000))).toEqual(slowly(lineOf(500_000)));
});
