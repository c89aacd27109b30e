import { expect, test } from 'vitest';
import { parseMap } from './map-file.ts';
import { takeLine } from './source-line.ts';

const least = {
  timestamp: '/when',
  'actor.id': '/who',
  'actor.role': { constant: 'unknown' },
  action: '/what',
  'resource.type': { constant: 'queue' },
  'resource.id': '/which',
};
const mapOf = (more: object = {}) => parseMap(JSON.stringify({ ...least, ...more }));
const line = { when: '2025-09-01T10:00:00Z', who: 'ana', what: 'update', which: 7 };
const eventOf = (map: object, more: object = {}) => mapOf(map).eventOf({ ...line, ...more });

test('a line becomes the event that the map names, and the rest of the line is left', () => {
  expect(eventOf({}, { colour: 'red' })).toEqual({
    timestamp: line.when,
    actor: { id: 'ana', role: 'unknown' },
    action: 'update',
    resource: { type: 'queue', id: '7' },
  });
});

test('of several places the first with a value counts; null, an empty text and no member are none', () => {
  const map = { reason: ['/a', '/b/0/c', { constant: 'none given' }] };
  expect(eventOf(map, { a: 'A', b: [{ c: 'C' }] }).reason).toBe('A');
  for (const a of [null, '', undefined]) {
    expect(eventOf(map, { a, b: [{ c: 'C' }] }).reason).toBe('C');
  }
  expect(eventOf(map, { b: [] }).reason).toBe('none given');
  expect(eventOf({ reason: '/a/toString' }, { a: {} })).not.toHaveProperty('reason');
});

test('a path is a JSON Pointer, and may name members with dots and slashes', () => {
  const path = '/annotations/authorization.k8s.io~1decision';
  const annotations = { 'authorization.k8s.io/decision': 'allow' };
  expect(eventOf({ reason: path }, { annotations }).reason).toBe('allow');
});

test('words become lower case and epoch times become times where the map says so', () => {
  const map = {
    action: { path: '/what', lowerCase: true },
    timestamp: { path: '/when', time: 'epoch_ms' },
  };
  const event = eventOf(map, { what: 'CreateUser', when: 1_756_720_800_123 });
  expect([event.action, event.timestamp]).toEqual(['createuser', '2025-09-01T10:00:00.123Z']);
});

test('a text field takes numbers as texts and lists as JSON, metadata keeps numbers, a state all', () => {
  const [name, count] = [['a', 1], 5];
  const map = { 'resource.name': '/name', 'metadata.count': '/count', 'metadata.names': '/name' };
  const event = eventOf(
    { ...map, correlationId: '/count', 'after.names': '/name' },
    { name, count },
  );
  expect(event).toMatchObject({
    resource: { name: '["a",1]' },
    metadata: { count: 5, names: '["a",1]' },
    correlationId: '5',
    after: { names: ['a', 1] },
  });
});

test('a target of which the line says nothing is left out, and the next one takes its place', () => {
  const map = {
    'targets.0.type': { constant: 'user' },
    'targets.0.id': '/user',
    'targets.1.type': { constant: 'team' },
    'targets.1.id': '/team',
  };
  expect(eventOf(map)).not.toHaveProperty('targets');
  expect(eventOf(map, { team: 't1' }).targets).toEqual([{ type: 'team', id: 't1' }]);
  expect(eventOf(map, { team: 't1', user: 3 }).targets).toMatchObject([{ id: '3' }, { id: 't1' }]);
});

test('the ids of mapped lines are the same at every run, and numbers that were not read warn of nothing', () => {
  const take = (text: string) => {
    const bytes = Buffer.from(text);
    const rules = { tenantForAll: 'acme', map: mapOf({ sourceId: '/n', 'metadata.big': '/big' }) };
    const taken = takeLine({ number: 1, bytes, tooLong: false }, rules);
    if ('refusal' in taken) throw new Error(taken.refusal.reason);
    return taken.event;
  };
  const text = JSON.stringify({ ...line, n: 12 }).slice(0, -1);
  const [one, other] = [take(`${text}}`), take(`{"first":0,${text.slice(1)},"more":1e-400}`)];
  expect(one.text).toBe(other.text);
  expect(one.source?.id).toBe('12');
  expect([other, take(`${text},"big":1e-400}`)].map((event) => event.hasNumbersAsText)).toEqual([
    false,
    true,
  ]);
});

test.each([
  [{ acton: '/what' }, "unknown field 'acton'; did you mean 'action'?"],
  [{ 'actor.mail': '/what' }, "did you mean 'actor.email'?"],
  [{ 'targets.0.nam': '/what' }, "did you mean 'targets.0.name'?"],
  [
    { reason: 'user.name' },
    'reason: "user.name" is not a JSON Pointer; did you mean "/user/name"?',
  ],
  [{ reason: '/a~b' }, 'is not a JSON Pointer'],
  [
    { reason: { path: '/a', lowercase: true } },
    "unknown option 'lowercase'; did you mean 'lowerCase'?",
  ],
  [{ reason: { path: '/a', lowerCase: 'yes' } }, 'reason: lowerCase must be true or false'],
  [{ timestamp: { path: '/a', time: 'unix' } }, 'timestamp: time must be epoch_s or epoch_ms'],
  [{ reason: { path: '/a', constant: 'b' } }, 'reason: either a path or a constant'],
  [{ reason: {} }, 'reason: either a path or a constant'],
  [{ reason: 5 }, 'reason: a path is needed'],
  [{ reason: [] }, 'reason has no path'],
  [{ action: undefined }, 'it has no action'],
  [{ timestamp: undefined }, 'it has no timestamp'],
  [{ 'actor.id': undefined }, 'it has no actor.externalId, and no actor.email, and no actor.id'],
  [{ metadata: '/a', 'metadata.b': '/b' }, 'metadata and metadata.… cannot both be mapped'],
])('a map with a mistake says which: %j', (changes, message) => {
  expect(() => mapOf(changes)).toThrow(message);
});

test('a map that is no JSON object, or names a field twice, says so', () => {
  expect(() => parseMap('{"action": }')).toThrow('it is not valid JSON');
  expect(() => parseMap('[]')).toThrow('it is not a JSON object');
  expect(() => parseMap('{"action":"/a","action":"/b"}')).toThrow('/action stands there twice');
});
