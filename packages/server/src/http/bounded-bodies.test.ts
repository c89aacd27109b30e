import { batchBytesMax, eventBytesMax } from '@indelible/protocol';
import { ownOrigin } from '@indelible/testing/browser';
import { turnsOf } from '@indelible/testing/longest-turn';
import { platformKey, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

/* How long one call can stop the event loop: each text and list is bounded, and so is the time. */

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  items?: Schema;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  examples?: unknown[];
  additionalProperties?: boolean | Schema;
}

interface Operation {
  parameters?: { in: string; name: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema; example?: unknown }> };
}

const service = await testService();
const { body: document } = await service.call({ url: '/openapi.json', key: null });
const operations = Object.entries(
  document.paths as Record<string, Record<string, Operation>>,
).flatMap(([path, calls]) => Object.entries(calls).map(([verb, call]) => ({ path, verb, call })));

const resolved = (schema: Schema): Schema =>
  schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] : schema;

/** Some formats fit short texts alone, and so does a pattern without `*`, `+` or an open `{n,}`. */
const isShort = ({ format = '', pattern = '*' }: Schema) =>
  ['uuid', 'date-time'].includes(format) || !/[*+]|\{\d+,\}/.test(pattern);

/** Where a schema leaves a text, a list or a record as long as its sender likes. */
function unbounded(given: Schema, at: string): string[] {
  const schema = resolved(given);
  if (schema.enum ?? schema.const) return [];
  // Beside a type, alternatives only narrow what it takes.
  if (schema.anyOf && !schema.type) return schema.anyOf.flatMap((each) => unbounded(each, at));
  const { maxLength, maxItems, maxProperties, items, properties = {} } = schema;
  const types = [schema.type].flat();
  const is = (type: string) => types.includes(type);
  const values = schema.additionalProperties;
  const faults = [
    types[0] === undefined && 'is of any type',
    is('string') && maxLength === undefined && !isShort(schema) && 'a text of any length',
    is('array') && maxItems === undefined && 'a list of any length',
    typeof values === 'object' && maxProperties === undefined && 'any number of members',
  ];
  return [
    ...faults.flatMap((fault) => (fault ? [`${at}: ${fault}`] : [])),
    ...(items ? unbounded(items, `${at}/*`) : []),
    ...(typeof values === 'object' ? unbounded(values, `${at}/*`) : []),
    ...Object.entries(properties).flatMap(([name, each]) => unbounded(each, `${at}/${name}`)),
  ];
}

/** An event is bounded as a whole: what is too long in it is cut, and refuses nothing. */
const takesEvents = (at: string) => /^post \/api\/audit-logs(?:\/batch)? body/.test(at);

test('every text and every list that a call takes is bounded in the OpenAPI document', () => {
  const found = operations.flatMap(({ path, verb, call }) => [
    ...(call.parameters ?? []).flatMap(({ schema, name }) =>
      unbounded(schema, `${verb} ${path} ${name}`),
    ),
    ...Object.values(call.requestBody?.content ?? {}).flatMap(({ schema }) =>
      unbounded(schema, `${verb} ${path} body`),
    ),
  ]);
  expect(found.filter((at) => !takesEvents(at))).toEqual([]);
});

type Value = (bytes: number) => string;

/** Each is made once: that takes longer than to judge it. */
function madeOnce(value: Value): Value {
  const made = new Map<number, string>();
  return (bytes) => {
    const text = made.get(bytes) ?? value(bytes);
    made.set(bytes, text);
    return text;
  };
}

const repeated = (part: string, bytes: number) =>
  part.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(part))));

/** A list of as many items as fit, each different if it has a number. */
const listed = (bytes: number, item: (n: number) => string) => {
  const items: string[] = [];
  for (let length = 0, n = 0; length < bytes; n += 1) {
    const next = item(n);
    items.push(next);
    length += next.length + 1;
  }
  return items.join(',');
};

/** The characters that cost the most to fold, to match, to escape or to show. */
const characters = [
  ...['ﷺ', 'a', ' ', '!', 'a@', '%41', '1:', 'https://a.', '.a_', '"', '\u0000', '\ud800'],
  ...['a\u0301', 'İ', '👨‍👩‍👧', '\u{e0061}', '2026-01-01T'],
];
const texts = characters.map((part) => {
  const json = JSON.stringify(part).slice(1, -1);
  return madeOnce((bytes) => `"${repeated(json, bytes)}"`);
});

/** The largest counts, and the longest names. */
const structures = [
  (bytes: number) => `[${listed(bytes, String)}]`,
  (bytes: number) => `[${listed(bytes, (n) => `"${n}"`)}]`,
  (bytes: number) => `[${listed(bytes, (n) => `{"a":${n}}`)}]`,
  (bytes: number) => `[${listed(bytes, () => '{}')}]`,
  (bytes: number) => `[${listed(bytes, () => `${'['.repeat(150)}${']'.repeat(150)}`)}]`,
  (bytes: number) => `{${listed(bytes, (n) => `"a${n}":0`)}}`,
  (bytes: number) => `{${listed(bytes, (n) => `"a${n % 999}":${n}`)}}`,
  (bytes: number) => `{"${repeated('ﷺ', bytes)}":0}`,
  (bytes: number) => `{"${repeated('ﷺ', bytes / 3)}":[${listed(3_000, String)}]}`,
].map(madeOnce);

/** One value stands for all of a kind that the schema refuses: only its type is looked at. */
function valuesFor(given: Schema): Value[] {
  const schema = resolved(given);
  const types = [schema, ...(schema.anyOf ?? [])].flatMap((each) => resolved(each).type ?? []);
  const takes = (...of: string[]) => types.length === 0 || types.some((type) => of.includes(type));
  return [
    ...(takes('object', 'array') ? structures : structures.slice(-1)),
    ...(takes('string') ? texts : texts.slice(0, 1)),
  ];
}

type Place = { path: string[]; schema: Schema };

/** Where values may stand. One place of a kind, such as a filter, stands for all calls. */
function places(given: Schema, path: string[] = [], kinds = new Set<string>()): Place[] {
  const schema = resolved(given);
  const { properties = {}, items, additionalProperties: members } = schema;
  const unimportant = { title: '', description: '', examples: [], maxLength: 0 };
  const inner = [
    ...Object.entries(properties),
    ...(items ? [['0', items] as const] : []),
    ...(typeof members === 'object' ? [['a', members] as const] : []),
  ].filter(([, each]) => {
    const kind = JSON.stringify({ ...each, ...unimportant });
    const isNew = !kinds.has(kind);
    kinds.add(kind);
    return isNew;
  });
  return [
    { path, schema: given },
    ...inner.flatMap(([name, each]) => places(each, [...path, name], kinds)),
  ];
}

type Json = Record<string, unknown>;

/** The JSON text of a body with this value in one place, beside what the example has. */
function bodyWith(example: unknown, path: readonly string[], value: string): string {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (name === '0') return `[${bodyWith(undefined, rest, value)}]`;
  const others = Object.entries((example ?? {}) as Json).filter(([key]) => key !== name);
  const member = bodyWith(((example ?? {}) as Json)[name], rest, value);
  return `{${[...others.map(([key, each]) => `"${key}":${JSON.stringify(each)}`), `"${name}":${member}`]}}`;
}

const url = (path: string, id: string) => path.replace(/\{\w+\}/g, id);

interface Sent {
  at?: string;
  method: 'GET';
  url: string;
  headers?: Record<string, string>;
  payload?: string;
}

function* bodies(id: string): Generator<Sent> {
  const kinds = new Set<string>();
  for (const { path, verb, call } of operations)
    for (const { schema, example } of Object.values(call.requestBody?.content ?? {})) {
      const isBatch = path.endsWith('/batch');
      const largest = isBatch ? batchBytesMax : 64 * 1024;
      const bytes = (path === '/api/audit-logs' ? eventBytesMax : largest) - 1_000;
      // An event of a batch is judged as one that is sent alone.
      const all = places(schema, [], kinds).filter((each) => !isBatch || each.path.length < 3);
      for (const each of all)
        for (const value of isBatch ? structures.slice(0, 6) : valuesFor(each.schema)) {
          const payload = bodyWith(example, each.path, value(bytes));
          const at = `${each.path.join('/')} ${value(bytes).slice(0, 20)}`;
          yield { at, method: verb.toUpperCase() as 'GET', url: url(path, id), payload };
        }
    }
}

function* everything(id: string): Generator<Sent> {
  yield* parameters(id);
  yield* bodies(id);
}

/** The head of a request has 16 KiB at most. */
const headBytes = 15_000;

function* parameters(id: string): Generator<Sent> {
  const seen = new Set<string>();
  for (const { path, verb, call } of operations)
    for (const { in: where, name, schema } of call.parameters ?? []) {
      const kind = JSON.stringify([where, name, schema, where === 'path' && path]);
      if (seen.has(kind)) continue;
      seen.add(kind);
      const method = verb.toUpperCase() as 'GET';
      for (const part of characters) {
        const text = repeated(encodeURIComponent(part.toWellFormed()), headBytes);
        if (where === 'header') yield { method, url: url(path, id), headers: { [name]: text } };
        if (where === 'path') yield { method, url: url(path.replace(`{${name}}`, text), id) };
        if (where === 'query') yield { method, url: `${url(path, id)}?${name}=${text}` };
      }
      const often = Array.from({ length: headBytes / (name.length + 3) }, () => `${name}=!`);
      if (where === 'query') yield { method, url: `${url(path, id)}?${often.join('&')}` };
    }
}

const manyMembers = structures[5]?.(eventBytesMax) ?? '';

/** 50 ms of a machine on which JSON.parse takes 10 ms for an event of the largest size. */
function msAllowed(): number {
  const begun = process.threadCpuUsage();
  JSON.parse(manyMembers);
  const { user, system } = process.threadCpuUsage(begun);
  return Math.max(50, ((user + system) / 1_000) * (50 / 10));
}

test('no text and no list of any call stops the event loop for 50 ms, whatever is in it', async () => {
  const { id } = await service.tenant();
  const standard = {
    authorization: `Bearer ${platformKey}`,
    'content-type': 'application/json',
    'x-tenant-id': id,
    'x-access-reason': 'test',
    origin: ownOrigin,
  };
  const stops: string[] = [];
  for (const { at = '', ...sent } of everything(id)) {
    const request = { ...sent, headers: { ...standard, ...sent.headers } };
    const shown = `${sent.method} ${sent.url.slice(0, 100)} ${at}`;
    const ask = async () => {
      const { statusCode } = await service.app.http.inject(request);
      expect(statusCode, shown).toBeLessThan(500);
    };
    // Other programs and garbage make single calls slower, never quicker.
    // A call that takes 50 ms as a whole is not watched, which takes processor time itself.
    const begun = process.threadCpuUsage();
    await ask();
    const { user, system } = process.threadCpuUsage(begun);
    let least = (user + system) / 1_000;
    for (let attempt = 1; attempt <= 10 && least > 50; attempt++) {
      const { longest } = await turnsOf(ask);
      least = longest <= msAllowed() ? 0 : Math.min(least, longest);
    }
    if (least > 50) stops.push(`${Math.round(least)} ms: ${shown}`);
  }
  expect(stops).toEqual([]);
}, 600_000);
