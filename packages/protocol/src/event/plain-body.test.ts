import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalize, type JsonObject } from '../json/canonical.ts';
import { FormatError } from '../log/bytes.ts';
import { everyContext, plainEvent, record, serviceLine, sha } from '../testing/recorded-log.ts';
import { contextTexts } from './context.ts';
import { bodyLineOf, commitmentOfBody, type EventBody, parseProvenJson } from './event-body.ts';
import { readPlainBody } from './plain-body.ts';

/** What the full reader makes of a line, or that it refuses it. */
function slowly(line: string) {
  try {
    return bodyLineOf(parseProvenJson(line));
  } catch (error) {
    if (error instanceof FormatError) return 'refused';
    throw error;
  }
}

/** The full reader reads the same, which has the same commitment. */
function expectSame(body: EventBody | null, line: string): void {
  const slow = slowly(line);
  expect(body).toEqual({ ...(slow as EventBody), isPlain: true });
  expect(commitmentOfBody(sha, body as EventBody)).toEqual(
    commitmentOfBody(sha, slow as EventBody),
  );
}

const word = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.constant('a"b\\c\nd'));
const nullable = fc.option(word);
const object = fc
  .dictionary(word, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((value) => canonicalize(value as JsonObject));
const party = fc.record(
  { id: fc.uuid(), externalId: word, email: word, name: word, type: word, role: word },
  { requiredKeys: ['id'] },
);
/** Nothing of version 2, or some of it. */
const contexts = fc.oneof(
  fc.constant({}),
  fc
    .record(
      {
        actor: fc.record({ type: word, name: word, externalId: word }, { requiredKeys: [] }),
        outcome: word,
        resource: fc.record({ externalId: word }, { requiredKeys: [] }),
        correlationId: word,
        onBehalfOf: fc.array(party, { minLength: 1, maxLength: 2 }),
        via: fc.record({ channel: word, tool: word }, { requiredKeys: ['channel'] }),
        metadata: fc.dictionary(word, fc.oneof(word, fc.boolean(), fc.integer()), { maxKeys: 3 }),
        source: fc.record({ id: word, sequence: fc.nat() }),
      },
      { requiredKeys: [] },
    )
    .map(contextTexts),
);
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
    ...{ context: fc.constant(null), contextIdentity: fc.constant(null) },
  })
  .chain((first) => contexts.map((context) => ({ ...first, ...context })))
  .map((changes) => record([plainEvent(3, changes)]).map(serviceLine)[0] ?? '');

test('whatever is read the short way, the full reader reads the same', () => {
  fc.assert(
    fc.property(lines, (line) => {
      const body = readPlainBody(line);
      if (body !== null) expectSame(body, line);
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
      if (body !== null) expectSame(body, damaged);
    }),
    { numRuns: 1_000 },
  );
});

test('each member twice is left to the reader that refuses it', () => {
  const state = { before: '{"before1":1}', after: '{"after1":2}' };
  const event = plainEvent(3, { ...state, ...contextTexts(everyContext) });
  const [line = ''] = record([event]).map(serviceLine);
  expectSame(readPlainBody(line), line);
  const members = [...line.matchAll(/"\w+":(?=("[^"]*"|null|true|false|\d+|\{|\[))/g)];
  expect(members.length).toBe(73);
  for (const { 0: name, 1: value, index } of members) {
    const repeated = `${name}${value === '{' || value === '[' ? '{}' : value},`;
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
  expectSame(readPlainBody(lineOf(500_000)), lineOf(500_000));
});
