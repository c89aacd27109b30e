import { expect, test } from 'vitest';
import { parseStrictJson } from '../json/strict-json.ts';
import {
  boundTenantId,
  eventOf,
  refused,
  refusedRaw,
  takeContext,
  taken,
} from '../testing/take-context.ts';
import { takeEvent } from './take-event.ts';

const kib = 1_024;
const diffOf = (changes: Record<string, unknown>) => JSON.parse(taken(changes).event.diff);
const noDiff = (changes: Record<string, unknown>) => {
  const { diff: _, ...event } = eventOf(changes);
  return event;
};
/** Takes the changes without any diff of the producer's. */
const computed = (changes: Record<string, unknown>) => {
  const { event, warnings } = taken({ diff: undefined, ...changes });
  return { diff: JSON.parse(event.diff), warnings };
};
const fields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, { from: at, to: null }]));

test('a diff is kept field by field, each with exactly from and to', () => {
  const diff = { b: { from: 'x', to: null }, a: { from: 1.5, to: true }, '': { from: '', to: 0 } };
  expect(diffOf({ diff })).toEqual(diff);
  expect(taken({ diff: undefined }).event.diff).toBe('{}');
  expect(refused({ diff: { a: { from: 1 } } }).errors).toEqual(['/diff/a/to required']);
  expect(refused({ diff: { a: { to: 1 } } }).errors).toEqual(['/diff/a/from required']);
  expect(refused({ diff: { a: { from: 1, to: 2, by: 3 } } }).errors).toEqual([
    '/diff/a/by unknown_field',
  ]);
  for (const wrong of [null, [], 'a', 1]) {
    expect(refused({ diff: wrong }).errors).toEqual(['/diff invalid_type']);
    expect(refused({ diff: { a: wrong } }).errors).toEqual(['/diff/a invalid_type']);
  }
});

test('from and to are scalars, in fields of any name', () => {
  for (const field of [
    ...['a', '', 'a.b', 'a/b', 'a\nb', '\r\n', '__proto__', 'constructor', '\u2028'],
  ]) {
    const of = (change: unknown) => ({ diff: Object.fromEntries([[field, change]]) });
    expect(taken(of({ from: 1, to: 2 })).event.diff).toBe(
      JSON.stringify(of({ from: 1, to: 2 }).diff),
    );
    for (const value of [[], {}, [1], { a: 1 }]) {
      const { code, errors } = refused(of({ from: value, to: 1 }));
      expect([code, errors.length], JSON.stringify(field)).toEqual(['validation_failed', 1]);
      expect(errors[0]).toMatch(/\/from invalid_type$/);
    }
    expect(refused(of({ from: 1 })).errors).toHaveLength(1);
  }
});

test('500 fields are a diff, and of 501 the first 500 are kept', () => {
  expect(Object.keys(diffOf({ diff: fields(500) }))).toHaveLength(500);
  expect(Object.keys(diffOf({ diff: fields(501) }))).toHaveLength(500);
  expect(taken({ diff: fields(501) }).warningPaths).toEqual({ diff_truncated: ['/diff'] });
});

test('a value of 32 KiB of UTF-8 is kept whole, one byte more is cut', () => {
  for (const [character, bytes] of [
    ['x', 1],
    ['ü', 2],
    ['€', 3],
    ['😀', 4],
  ] as const) {
    const longest =
      'x'.repeat((32 * kib) % bytes) + character.repeat(Math.floor((32 * kib) / bytes));
    expect(diffOf({ diff: { a: { from: longest, to: null } } }).a.from).toBe(longest);
    const longer = taken({ diff: { a: { from: null, to: `${longest}x` } } });
    expect(JSON.parse(longer.event.diff).a.to, character).toBe(longest);
    expect(longer.warningPaths).toEqual({ truncated: ['/diff/a/to'] });
  }
});

test('a state of 256 KiB is kept whole, one byte more is dropped with a warning', () => {
  const longest = { a: 'ü'.repeat((256 * kib - 14) / 2), b: 1 };
  expect(Buffer.byteLength(JSON.stringify(longest))).toBe(256 * kib);
  const event = taken({ before: longest, after: longest, diff: {} }).event;
  expect(event.after).toBe(JSON.stringify(longest));
  const longer = { ...longest, b: 10 };
  const { event: other, warningPaths } = taken({ before: longer, after: longer, diff: {} });
  expect([other.before, other.after]).toEqual([null, null]);
  expect(warningPaths).toEqual({ value_dropped: ['/before', '/after'] });
});

test('states are objects or null, stored as canonical JSON', () => {
  const { event } = taken({ before: { b: [1, { d: 1, c: 1e2 }], a: '\u00e9' }, after: null });
  expect(event.before).toBe('{"a":"é","b":[1,{"c":100,"d":1}]}');
  expect(event.after).toBeNull();
  for (const wrong of [[], 'a', 1, false]) {
    expect(refused({ before: wrong }).errors).toEqual(['/before invalid_type']);
  }
});

test('states without a diff give one: nested fields by dotted path, elements by identity', () => {
  const { diff, warnings } = computed({
    before: {
      name: 'Main',
      steps: [{ say: 'hi' }, { say: 'bye' }],
      team: ['a', 'b'],
      hours: { mon: 9 },
      gone: true,
    },
    after: {
      name: 'Main',
      steps: [{ say: 'hello' }],
      team: ['b'],
      hours: { mon: 9, tue: 10 },
      tags: [],
    },
  });
  expect(diff).toEqual({
    'steps.0.say': { from: 'hi', to: 'hello' },
    'steps.1.say': { from: 'bye', to: null },
    'team[a]': { from: 'a', to: null },
    'hours.tue': { from: null, to: 10 },
    gone: { from: true, to: null },
    tags: { from: null, to: '[]' },
  });
  expect(warnings).toEqual([]);
});

test('a diff that was sent is never replaced by a computed one, not even an empty one', () => {
  expect(diffOf({ diff: {}, before: { a: 1 }, after: { a: 2 } })).toEqual({});
});

test('the first 500 of more changed fields are kept, and the warning says so', () => {
  const state = (value: number) =>
    Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`f${i}`, value]));
  const { f500: _, ...fewer } = state(1);
  expect(computed({ before: fewer, after: {} }).warnings).toEqual([]);
  const { diff, warnings } = computed({ before: state(1), after: state(2) });
  expect(Object.keys(diff)).toHaveLength(500);
  expect(warnings).toEqual(['diff_truncated']);
});

test('a computed diff never makes an event too large: two states of 256 KiB may differ in all', () => {
  const state = (letter: string) =>
    Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`f${at}`, letter.repeat(32_000)]));
  const { diff, warnings } = computed({ before: state('b'), after: state('a') });
  expect(Object.keys(diff)).toHaveLength(8);
  expect(warnings).toEqual([]);
});

test('a change of a sensitive resource without its states is recorded with a warning', () => {
  const of = (type: string, action: string, states: object) =>
    taken({ action, resource: { type, id: boundTenantId }, ...states }).warnings;
  const [before, after] = [{ a: 1 }, { a: 2 }];
  for (const type of ['recording_policy', 'ivr', 'user_role']) {
    expect(of(type, 'create', { after })).toEqual([]);
    expect(of(type, 'create', { before })).toEqual(['state_missing']);
    expect(of(type, 'reroute', { after })).toEqual(['state_missing']);
    expect(of(type, 'delete', { before })).toEqual([]);
    expect(of(type, 'delete', { after })).toEqual(['state_missing']);
    expect(of(type, 'update', { before, after })).toEqual([]);
    expect(of(type, 'update', { before })).toEqual(['state_missing']);
    expect(of(type, 'publish', { after, before: null })).toEqual(['state_missing']);
    expect(of(type, 'access', {})).toEqual([]);
  }
  expect(of('queue', 'update', {})).toEqual([]);
});

const secret = 'hunter2-should-never-be-stored';
const stored = (changes: Record<string, unknown>) => {
  const { event, warnings } = taken(changes);
  expect(JSON.stringify({ ...event, salts: '', commitment: '' })).not.toContain(secret);
  return { event, warnings };
};

test('secrets are masked in a diff, in states at any depth and in what is computed from them', () => {
  const diff = {
    password: { from: secret, to: secret },
    'smtp.apiKey': { from: null, to: secret },
  };
  expect(stored({ diff }).event.diff).toBe(
    '{"password":{"from":"[masked]","to":"[masked]"},"smtp.apiKey":{"from":null,"to":"[masked]"}}',
  );
  const before = { a: [{ b: { client_secret: { x: [secret] }, keep: 1 } }], Authorization: secret };
  const { event, warnings } = stored({ before, after: { token: secret }, diff: undefined });
  expect(event.before).toBe(
    '{"Authorization":"[masked]","a":[{"b":{"client_secret":"[masked]","keep":1}}]}',
  );
  expect(event.after).toBe('{"token":"[masked]"}');
  expect(warnings).toEqual(['secret_masked']);
});

test('the usual names and forms of secrets are masked in states, diff and metadata', () => {
  const after = {
    password_digest: 'hunter2',
    'user[password]': 'hunter2',
    database_url: 'postgres://app:hunter2@db.example.com/x',
    body: '{"password":"hunter2"}',
    headers: ['Authorization: Bearer hunter2'],
  };
  const { headers, ...metadata } = after;
  const event = taken({ after, metadata, diff: undefined }).event;
  expect(JSON.stringify(event)).not.toContain('hunter2');
  expect(JSON.parse(event?.diff ?? '')).toMatchObject({ body: { from: null, to: '[masked]' } });
});

test('a switch of a security setting is shown, the value of a secret is not', () => {
  const before = { requirePin: true, otp: true, hasPassword: true, spin: 1, value: secret };
  const after = { requirePin: false, otp: false, hasPassword: false, spin: 2, value: 'other' };
  const resource = { type: 'secret', externalId: 's1' };
  const { diff } = stored({ resource, before, after, diff: undefined }).event;
  expect(JSON.parse(diff)).toEqual({
    hasPassword: { from: true, to: false },
    otp: { from: true, to: false },
    requirePin: { from: true, to: false },
    spin: { from: 1, to: 2 },
    value: { from: '[masked]', to: '[masked]' },
  });
});

test('that a secret changed is seen in the computed diff, though neither value is', () => {
  const of = (from: string, to: string) =>
    computed({ before: { user: { password: from } }, after: { user: { password: to } } }).diff;
  expect(of(secret, 'other')).toEqual({ 'user.password': { from: '[masked]', to: '[masked]' } });
  expect(of(secret, secret)).toEqual({});
});

test('nothing is masked in an event without secrets, and a secret that is null stays null', () => {
  expect(taken({ after: { passwordPolicy: 'strict', tokenizer: 1 } }).warnings).toEqual([]);
  expect(taken({ diff: { token: { from: null, to: null } } })).toMatchObject({
    event: { diff: '{"token":{"from":null,"to":null}}' },
    warnings: [],
  });
});

test('unknown fields are refused at every level, never dropped', () => {
  expect(refused({ colour: 1 }).errors).toEqual(['/colour unknown_field']);
  expect(refused({ actor: { id: boundTenantId, role: 'a', nick: 'x' } }).errors).toEqual([
    '/actor/nick unknown_field',
  ]);
  expect(refused({ resource: { type: 'a', id: boundTenantId, url: 'x' } }).errors).toEqual([
    '/resource/url unknown_field',
  ]);
});

test('__proto__ and constructor are members like any other: refused above, kept in diff and states', () => {
  const raw = (inner: string) =>
    parseStrictJson(JSON.stringify(noDiff({})).replace(/\}$/, `,${inner}}`)).value;
  expect(refusedRaw(raw('"__proto__":{"action":"x"}')).errors).toEqual([
    '/__proto__ unknown_field',
  ]);
  expect(refusedRaw(raw('"constructor":1')).errors).toEqual(['/constructor unknown_field']);
  const state = '{"__proto__":{"x":1},"constructor":{"prototype":2},"toString":3}';
  const { event } = taken({ ...(raw(`"before":${state}`) as object), diff: undefined });
  expect(event.before).toBe(state);
  expect(JSON.parse(event.diff)).toEqual(
    JSON.parse(
      '{"__proto__.x":{"from":1,"to":null},"constructor.prototype":{"from":2,"to":null},' +
        '"toString":{"from":3,"to":null}}',
    ),
  );
});

test('a changed amount with more digits than a double has is a change of two texts', () => {
  const text = '{"before":{"rate":0.12345678901234567890},"after":{"rate":0.12345678901234567891}}';
  const { value, numbersAsText } = parseStrictJson(text);
  const event = noDiff(value as Record<string, unknown>);
  const result = takeEvent(event, { ...takeContext(), numbersAsText });
  expect(result).toMatchObject({ warnings: ['number_as_text'] });
  expect(JSON.parse(result.event?.diff ?? '')).toEqual({
    rate: { from: '0.12345678901234567890', to: '0.12345678901234567891' },
  });
});

test('no answer lists more than 50 problems, nor a long name in full', () => {
  const texts = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`k${at}`, '\ud800']));
  expect(taken({ before: texts, after: texts }).warningPaths.value_dropped).toHaveLength(20);
  const changes = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`k${at}`, {}]));
  expect(refused({ diff: changes }).errors).toHaveLength(50);
  const long = 'k'.repeat(100_000);
  for (const changed of [{ [long]: 1 }, { diff: { [long]: {} } }]) {
    expect(refused(changed).errors.join().length).toBeLessThan(1_000);
  }
});

test('a crowd of members is one problem, not a million', () => {
  const crowd = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at]));
  expect(refusedRaw(crowd).errors).toEqual([' too_many']);
  expect(refused({ actor: crowd }).errors).toEqual(['/actor too_many']);
  expect(refused({ resource: crowd }).errors).toEqual(['/resource too_many']);
  expect(refused({ diff: crowd }).errors).toEqual(['/diff too_many']);
  expect(refused({ diff: { a: crowd } }).errors).toEqual(['/diff/a too_many']);
});

test('an event of more than 600 KiB is too large, however its bytes are spread', () => {
  const change = { from: '€'.repeat(10_000), to: '€'.repeat(10_000) };
  const diff = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, change]));
  expect(taken({ diff: diff(10) }).warnings).toEqual([]);
  expect(refused({ diff: diff(11) })).toMatchObject({ code: 'payload_too_large', errors: [] });
});
