import fc from 'fast-check';
import { expect, test } from 'vitest';
import { equalBytes, FormatError } from '../log/bytes.ts';
import {
  bodyLine,
  everyContext,
  plainEvent,
  type RecordedEvent,
  record,
  sha,
} from '../testing/recorded-log.ts';
import { anyInput, parsedOrRefused, withOneByteChanged } from '../testing/tampering.ts';
import { contextTexts } from './context.ts';
import {
  commitmentOfBody,
  eventBodyOf,
  hasStateSegment,
  parseBodyLine,
  parseProvenJson,
  versionOf,
  withheldSegments,
  withholdableSegments,
} from './event-body.ts';
import { withholdSegments } from './withheld-body.ts';

const later = contextTexts(everyContext);
const state = { before: '{"limit":5}', after: '{"\\"":"ü\\n","limit":6}', reason: 'asked for' };
const [plain, full, second] = record([
  plainEvent(1),
  plainEvent(2, state),
  plainEvent(3, { ...state, ...later }),
]) as [RecordedEvent, RecordedEvent, RecordedEvent];
const commitmentIn = ({ entry }: RecordedEvent) => entry.subarray(28);
const line = bodyLine(second);

test('a body opens the commitment of its entry, with a state and without', () => {
  for (const recorded of [plain, full, second]) {
    const body = parseBodyLine(bodyLine(recorded));
    expect(commitmentOfBody(sha, body)).toEqual(commitmentIn(recorded));
    expect(withheldSegments(body)).toEqual([]);
    expect(hasStateSegment(body)).toBe(recorded !== plain);
    expect(versionOf(body)).toBe(recorded === second ? 2 : 1);
    expect(parseBodyLine(new TextEncoder().encode(bodyLine(recorded)))).toEqual(body);
  }
});

const of = fc.constantFrom(plain, full, second);

test('any segments but the event may be withheld, and the rest still opens the commitment', () => {
  fc.assert(
    fc.property(fc.subarray([...withholdableSegments]), of, (segments, recorded) => {
      const hasState = recorded !== plain;
      const withheld = withholdSegments(sha, bodyLine(recorded), segments);
      const body = parseBodyLine(withheld);
      expect(commitmentOfBody(sha, body)).toEqual(commitmentIn(recorded));
      expect(hasStateSegment(body)).toBe(hasState);
      expect(withheldSegments(body)).toEqual(
        segments.filter(
          (name) => (hasState || name !== 'state') && (recorded === second || name !== 'context'),
        ),
      );
      // One after the other is the same as at once.
      const steps = segments.reduce((text, name) => withholdSegments(sha, text, [name]), withheld);
      expect(parseBodyLine(steps)).toEqual(body);
    }),
  );
});

test('a withheld segment leaves neither its values nor its salt behind', () => {
  const withheld = withholdSegments(sha, line, [...withholdableSegments]);
  const { event } = second;
  const texts = [event.actorEmail, event.actorIp, event.resourceName, 'maxWait', 'limit'];
  for (const text of [
    ...texts,
    ...['denied', 'bot_7', 'user_123', 'ana@', 'Org Owner', 'mcp', 'region'],
  ]) {
    expect(line).toContain(text);
    expect(withheld).not.toContain(text);
  }
  const salts = JSON.parse(line).salts;
  for (const name of withholdableSegments) {
    expect(salts[name]).toMatch(/^[0-9a-f]{32}$/);
    expect(withheld).not.toContain(salts[name]);
  }
});

test('an erased segment, of which the service has but the hash, is one that is withheld', () => {
  const json = JSON.parse(withholdSegments(sha, bodyLine(plain), ['identity']));
  expect(json.hashes.identity).toMatch(/^[0-9a-f]{64}$/);
  expect(json.event.actor).toMatchObject({ email: null, ip: null, userAgent: null });
  expect(commitmentOfBody(sha, eventBodyOf(json))).toEqual(commitmentIn(plain));
});

/** The line with its JSON changed by hand. */
function edited(change: (json: { [name: string]: Record<string, unknown> }) => void): string {
  const json = JSON.parse(line);
  change(json);
  return JSON.stringify(json);
}

test('salts and hashes that leave anything open are refused', () => {
  const hash = '0'.repeat(64);
  const salt = '0'.repeat(32);
  const refused: Parameters<typeof edited>[0][] = [
    (j) => delete j.salts,
    (j) => delete j.event,
    (j) => Object.assign(j, { extra: 1 }),
    (j) => Object.assign(j, { hashes: null }),
    (j) => Object.assign(j, { hashes: [], extra: 1 }),
    (j) => Object.assign(j, { salts: [] }),
    (j) => Object.assign(j, { salts: 'x' }),
    (j) => delete j.salts?.change,
    (j) => delete j.salts?.event,
    (j) => delete j.salts?.identity,
    (j) => delete j.salts?.state,
    (j) => Object.assign(j.salts ?? {}, { other: salt }),
    (j) => Object.assign(j.salts ?? {}, { change: salt.slice(1) }),
    (j) => Object.assign(j.salts ?? {}, { change: `${salt}00` }),
    (j) => Object.assign(j.salts ?? {}, { change: `${salt.slice(1)}G` }),
    (j) => Object.assign(j.salts ?? {}, { change: 'A'.repeat(32) }),
    (j) => Object.assign(j.salts ?? {}, { change: null }),
    (j) => Object.assign(j, { hashes: { change: hash } }), // and its salt
    (j) => Object.assign(j, { hashes: { other: hash } }),
    (j) => Object.assign(j.event ?? {}, { before: null, after: null }), // but a salt of the state
    (j) => {
      delete j.salts?.event;
      Object.assign(j, { hashes: { event: hash } });
    },
    (j) => {
      delete j.salts?.identity; // withheld, but shown
      Object.assign(j, { hashes: { identity: hash } });
    },
  ];
  for (const change of refused) {
    expect(() => parseBodyLine(edited(change)), change.toString()).toThrow(FormatError);
  }
});

test('a segment is given by its salt or by its hash, never by both', () => {
  const json = JSON.parse(withholdSegments(sha, line, ['identity']));
  const { identity } = JSON.parse(line).salts;
  const both = JSON.stringify({ ...json, salts: { ...json.salts, identity } });
  expect(() => parseBodyLine(both)).toThrow('identity has both a salt and a hash');
});

test('a segment that is withheld must not be shown, in any of its fields', () => {
  const withheld = withholdSegments(sha, line, [...withholdableSegments]);
  for (const [empty, shown] of [
    ['"diff":{}', '"diff":{"a":{"from":1,"to":2}}'],
    ['"reason":null', '"reason":"x"'],
    ['"email":null', '"email":"eve@example.com"'],
    ['"ip":null', '"ip":"::1"'],
    ['"userAgent":null', '"userAgent":""'],
    ['"name":null', '"name":"x"'],
    ['"name":null', '"name":null,"externalId":"x"'],
    ['"reason":null', '"reason":null,"outcome":"success"'],
    ['"reason":null', '"reason":null,"onBehalfOf":[{"name":"x"}]'],
    ['"before":null', '"before":{}'],
    ['"after":null', '"after":{}'],
  ] as const) {
    expect(withheld).toContain(empty);
    expect(() => parseBodyLine(withheld.replace(empty, shown)), shown).toThrow(FormatError);
  }
});

test('a member named twice is refused, since two readers could believe two events', () => {
  const twice = line.replace('"reason":', '"reason":"the other","reason":');
  expect(() => parseBodyLine(twice)).toThrow('appears twice');
  const escaped = line.replace('"reason":', '"re\\u0061son":"the other","reason":');
  expect(() => parseBodyLine(escaped)).toThrow('appears twice');
});

test('messages never carry more than a little of what was sent', () => {
  const name = `\u001b[2J${'x'.repeat(500)}`;
  const json = JSON.stringify(name);
  for (const text of [`{${json}:1,${json}:2}`, `not json \u001b ${name}`, `{"event":{}}`]) {
    const error = fails(() => parseProvenJson(text));
    expect(error.length).toBeLessThan(120);
    expect(error).not.toContain('\u001b');
  }
});

function fails(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    if (error instanceof FormatError) return error.message;
    throw error;
  }
  return '';
}

test('a line with any byte changed is refused or opens another commitment', () => {
  const original = parseBodyLine(line);
  for (const changed of withOneByteChanged(new TextEncoder().encode(line))) {
    const body = parsedOrRefused(() => parseBodyLine(changed));
    if (body === null) continue;
    const { sequence, receivedAt, hasState } = body.event;
    // What is not committed to is held against the log's entry and the rest of the event.
    const isOther =
      sequence !== original.event.sequence ||
      receivedAt !== original.event.receivedAt ||
      hasState !== original.event.hasState ||
      !equalBytes(commitmentOfBody(sha, body), commitmentIn(second));
    expect(isOther, Buffer.from(changed).toString()).toBe(true);
  }
});

test('any input is a body or a FormatError', () => {
  fc.assert(
    fc.property(anyInput(line), (input) => {
      const body = parsedOrRefused(() => parseBodyLine(input));
      if (body !== null) expect(commitmentOfBody(sha, body)).toHaveLength(32);
      parsedOrRefused(() => withholdSegments(sha, input, ['identity']));
    }),
  );
});
