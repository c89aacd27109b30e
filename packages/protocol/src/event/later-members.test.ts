import { expect, test } from 'vitest';
import { FormatError } from '../log/bytes.ts';
import { bodyLine, everyContext, plainEvent, record, sha } from '../testing/recorded-log.ts';
import { contextTexts, identityMembers } from './context.ts';
import { commitmentOfBody, parseBodyLine } from './event-body.ts';
import { withholdSegments } from './withheld-body.ts';

/* A newer service records optional fields that this verifier does not know. */

const known = contextTexts(everyContext);
const context = { ...JSON.parse(String(known.context)), mood: { level: 3 } };
context.actor.team = 'blue';
context.targets[0].size = 7;
const identity = { ...JSON.parse(String(known.contextIdentity)), nickname: 'Bea' };
identity.resource.owner = 'Carl';
identity.targets[1].phone = '+34';
const canonical = (value: object) => JSON.stringify(sorted(value));
const [recorded] = record([
  plainEvent(0, { context: canonical(context), contextIdentity: canonical(identity) }),
]);
const personal = ['nickname', 'resource.owner', 'targets.phone', 'asSent'];

/** The body line of the newer service, which shows its fields. */
function lineOf(identityMembers: readonly string[] | undefined, changes: object = {}): string {
  if (recorded === undefined) throw new Error('nothing was recorded');
  const { event, ...rest } = JSON.parse(bodyLine(recorded));
  Object.assign(event, { mood: { level: 3 }, nickname: 'Bea' }, changes);
  event.actor.team = 'blue';
  event.resource.owner = 'Carl';
  event.targets[0].size = 7;
  event.targets[1].phone = '+34';
  return JSON.stringify({ event, ...rest, identityMembers });
}

const isIntact = (line: string) =>
  Buffer.from(commitmentOfBody(sha, parseBodyLine(line))).equals(
    recorded?.entry.subarray(28) ?? Buffer.of(),
  );

test('a verifier proves fields that it does not know, where the body line says that they belong', () => {
  expect(isIntact(lineOf(personal))).toBe(true);
  expect(isIntact(lineOf(personal.slice(1)))).toBe(false);
  expect(isIntact(lineOf([...personal, 'mood']))).toBe(false);
  expect(isIntact(lineOf(undefined))).toBe(false);
});

test('an unknown field that was changed, added or left out is not proven', () => {
  for (const changes of [
    { mood: { level: 4 } },
    { nickname: 'Eve' },
    { extra: 1 },
    { mood: undefined },
  ]) {
    expect(isIntact(lineOf(personal, changes)), JSON.stringify(changes)).toBe(false);
  }
});

test('unknown fields are withheld with their segment, and the rest is still proven', () => {
  const line = withholdSegments(sha, lineOf(personal), ['identity']);
  for (const text of ['Bea', 'Carl', '+34']) expect(line).not.toContain(text);
  expect(line).toContain('mood');
  expect(isIntact(line)).toBe(true);
  const neither = withholdSegments(sha, line, ['context']);
  expect(neither).not.toMatch(/mood|team/);
  expect(isIntact(neither)).toBe(true);
});

test('a verifier without asSent in its table verifies a log that has it', () => {
  // To this verifier, `asSeen` is what `asSent` is to one that was made before it.
  const texts = contextTexts(everyContext);
  expect(identityMembers(texts)).toEqual(['asSent']);
  const contextIdentity = String(texts.contextIdentity).replace('"asSent"', '"asSeen"');
  const [older] = record([plainEvent(0, { ...texts, contextIdentity })]);
  if (older === undefined) throw new Error('nothing was recorded');
  const { event, ...rest } = JSON.parse(bodyLine(older));
  const shown = { ...event, asSeen: everyContext.asSent };
  const line = JSON.stringify({ event: shown, ...rest, identityMembers: ['asSeen'] });
  expect(commitmentOfBody(sha, parseBodyLine(line))).toEqual(older.entry.subarray(28));
});

test('a member that says who recorded it, or would be a prototype, is refused', () => {
  const added = (member: string) => lineOf(personal).replace('"event":{', `"event":{${member},`);
  expect(() => parseBodyLine(added('"__proto__":{"a":1}'))).toThrow(FormatError);
  const line = lineOf(personal).replace('"recordedBy":{', '"recordedBy":{"note":"x",');
  expect(() => parseBodyLine(line)).toThrow(FormatError);
  expect(() => parseBodyLine(lineOf(personal).replace('["nickname"', '[1'))).toThrow(FormatError);
});

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}
