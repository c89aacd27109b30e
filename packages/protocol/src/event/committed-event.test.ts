import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../json/canonical.ts';
import { parseStrictJson } from '../json/strict-json.ts';
import { FormatError } from '../log/bytes.ts';
import { eventJson, plainEvent, type RecordedEvent, record } from '../testing/recorded-log.ts';
import { parsedOrRefused } from '../testing/tampering.ts';
import { committedEventOf } from './committed-event.ts';
import { derivedFieldProblem } from './derived-fields.ts';
import { nilUuid } from './event-id.ts';

const changes = { before: '{"a":[1,{"b":null}],"z":"é"}', after: null, reason: 'why\nnot' };
const [recorded] = record([plainEvent(3, changes)]) as [RecordedEvent];
const json = parseStrictJson(eventJson(recorded)).value as JsonObject;

/** A deep copy with the member at `path` set, or taken away. */
function changed(path: string, value?: JsonValue): JsonObject {
  const copy = structuredClone(json);
  const names = path.split('.');
  const last = names.pop() ?? '';
  let parent = copy;
  for (const name of names) parent = parent[name] as JsonObject;
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return copy;
}

const nullable = ['actor.email', 'actor.ip', 'actor.userAgent', 'resource.name', 'reason'];
const paths = [
  ...['id', 'timestamp', 'tenantId', 'action', 'diff', 'crossTenant', 'reason', 'before', 'after'],
  ...['category', 'hasState', 'sequence', 'receivedAt', 'actor', 'resource', 'recordedBy'],
  ...['actor.id', 'actor.email', 'actor.role', 'actor.ip', 'actor.userAgent'],
  ...['resource.type', 'resource.id', 'resource.name', 'recordedBy.kind', 'recordedBy.id'],
];

test('the JSON of the single read becomes the columns that were committed to', () => {
  const event = committedEventOf(json);
  expect(event).toMatchObject(recorded.event);
  expect(event).toMatchObject({ id: json.id, sequence: 0, hasState: true });
});

test('diff and states become canonical text, however their JSON was written', () => {
  const text = eventJson(recorded).replace('{"a":[1,{"b":null}],"z":"é"}', () => {
    return '{ "z":"\\u00e9", "\\u0061": [ 1.0, {"b":null} ] }';
  });
  expect(committedEventOf(parseStrictJson(text).value).before).toBe(changes.before);
});

test('an event with a member missing, misplaced, or of another type is refused', () => {
  for (const path of paths) {
    expect(() => committedEventOf(changed(path)), path).toThrow(FormatError);
    for (const value of [7.5, [], 'x', {}, true, null]) {
      const isFine =
        (value === null && (nullable.includes(path) || path === 'before' || path === 'after')) ||
        (typeof value === 'string' && typeof at(path) === 'string' && !/id$/i.test(path)) ||
        (typeof value === 'string' && nullable.includes(path)) ||
        (value === true && typeof at(path) === 'boolean') ||
        (isPlain(value) && ['diff', 'before', 'after'].includes(path));
      const read = parsedOrRefused(() => committedEventOf(changed(path, value)));
      expect(read !== null, `${path} ${JSON.stringify(value)}`).toBe(isFine);
    }
  }
  for (const path of ['recordedBy.note', '__proto__']) {
    const copy = changed('id', json.id as string);
    const parent = path.includes('.') ? (copy[path.split('.')[0] ?? ''] as JsonObject) : copy;
    const name = path.split('.').at(-1) ?? '';
    Object.defineProperty(parent, name, { value: 'x', enumerable: true });
    expect(() => committedEventOf(copy), path).toThrow(FormatError);
  }
});

const at = (path: string) =>
  path.split('.').reduce<JsonValue>((value, name) => (value as JsonObject)[name] ?? null, json);
const isPlain = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

test('ids have one spelling, and the time in an event id a date of four digits', () => {
  for (const path of ['tenantId', 'actor.id', 'resource.id', 'recordedBy.id']) {
    const id = at(path) as string;
    expect(() => committedEventOf(changed(path, id.toUpperCase())), path).toThrow(FormatError);
    const injected = `${id.slice(0, -3)}","`;
    expect(() => committedEventOf(changed(path, injected)), path).toThrow(FormatError);
  }
  const id = json.id as string;
  expect(() => committedEventOf(changed('id', id.toUpperCase()))).toThrow(FormatError);
  // The largest time that a UUIDv7 holds lies in the year 10889.
  const last = `evt_audit_7zz${id.slice(13)}`;
  expect(() => committedEventOf(changed('id', last))).toThrow(FormatError);
  for (const sequence of [-1, 2 ** 53]) {
    expect(() => committedEventOf(changed('sequence', sequence))).toThrow(FormatError);
  }
});

test('takeEvent returns an event or throws a FormatError for every input', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.jsonValue(), fc.anything()),
      fc.constantFrom(...paths),
      (value, path) => {
        expect(parsedOrRefused(() => committedEventOf(value))).toBeNull();
        parsedOrRefused(() => committedEventOf(changed(path, value as JsonValue)));
      },
    ),
  );
  expect(() => committedEventOf(changed('diff', { a: '\ud800' }))).toThrow(FormatError);
  expect(() => committedEventOf(changed('after', { a: Number.POSITIVE_INFINITY }))).toThrow(
    FormatError,
  );
});

test('a derived field that does not follow from the others is named', () => {
  const problem = (path?: string, value?: JsonValue, hasState = true) => {
    const event = committedEventOf(path === undefined ? json : changed(path, value));
    return derivedFieldProblem(event, hasState, recorded.receivedAtUs);
  };
  expect(problem()).toBeNull();
  expect(problem('timestamp', '2025-09-03T10:16:00.184Z')).toContain('timestamp');
  expect(problem('timestamp', '2025-09-03T10:16:00.183+00:00')).toContain('timestamp');
  expect(problem('receivedAt', '2025-09-03T10:16:05.001Z')).toContain('receivedAt');
  expect(problem('crossTenant', true)).toContain('crossTenant');
  expect(problem('actor.role', 'superadmin')).toContain('crossTenant');
  expect(problem('category', 'security')).toContain('category');
  expect(problem('category', 'cross_tenant')).toContain('category');
  expect(problem('hasState', false)).toContain('hasState');
  expect(problem('hasState', true, false)).toContain('hasState');
});

test('crossTenant follows from the people too; withheld, or of an earlier build, it may be either', () => {
  const context = (role: string) => `{"onBehalfOf":[{"id":"${nilUuid}","role":"${role}"}]}`;
  const problem = (role: string, crossTenant: boolean, isWithheld = false) => {
    const category = crossTenant ? 'cross_tenant' : recorded.event.category;
    const shown = { crossTenant, category, context: isWithheld ? null : context(role) };
    const event = { ...committedEventOf(json), ...shown };
    return derivedFieldProblem(event, true, recorded.receivedAtUs, isWithheld);
  };
  expect(problem('superadmin', true)).toBeNull();
  expect(problem('superadmin', false)).toBeNull();
  expect(problem('superadmin', true, true)).toBeNull();
  expect(problem('admin', false)).toBeNull();
  expect(problem('admin', true)).toContain('crossTenant');
  expect(problem('superadmin_assistant', true)).toContain('crossTenant');
});

test('a word of the configuration may have any category, a word of the catalogue its own', () => {
  const problem = (action: string, category: string, role = 'admin') => {
    const event = committedEventOf(json);
    const crossTenant = role === 'superadmin';
    const other = { ...event, action, category, actorRole: role, crossTenant };
    return derivedFieldProblem(other, true, recorded.receivedAtUs);
  };
  expect(problem('approve', 'security')).toBeNull();
  expect(problem('approve', 'configuration')).toBeNull();
  expect(problem('approve', 'nonsense')).toContain('category');
  expect(problem('login', 'security')).toBeNull();
  expect(problem('login', 'configuration')).toContain('category');
  expect(problem('login', 'cross_tenant', 'superadmin')).toBeNull();
  expect(problem('login', 'security', 'superadmin')).toContain('category');
  expect(problem('constructor', 'configuration')).toBeNull();
});
