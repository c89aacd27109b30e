import { eventBytesMax } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { platformKey, testService } from '../testing/service.ts';

/* What one call can make the service think about: each text and list is bounded, and so is time. */

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
  additionalProperties?: boolean | Schema;
}

interface Operation {
  parameters?: { in: string; name: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
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

test('every text and every list that a call takes is bounded in the OpenAPI document', () => {
  const found = operations.flatMap(({ path, verb, call }) => [
    ...(call.parameters ?? []).flatMap(({ schema, name }) =>
      unbounded(schema, `${verb} ${path} ${name}`),
    ),
    ...Object.values(call.requestBody?.content ?? {}).flatMap(({ schema }) =>
      unbounded(schema, `${verb} ${path} body`),
    ),
  ]);
  expect(found).toEqual([]);
});

const distinct = (bytes: number, item: (n: number) => string) => {
  const items: string[] = [];
  for (let length = 0, n = 0; length < bytes; n += 1) {
    const next = item(n);
    items.push(next);
    length += next.length + 1;
  }
  return items.join(',');
};

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

/** Values of about so many bytes that cost the most to judge. */
const shapes: Value[] = [
  (bytes) => `[${distinct(bytes, String)}]`,
  (bytes) => `[${distinct(bytes, (n) => `"${n}"`)}]`,
  (bytes) => `[${distinct(bytes, (n) => `{"a":${n}}`)}]`,
  (bytes) => `{${distinct(bytes, (n) => `"a${n}":0`)}}`,
  (bytes) => `{${distinct(bytes, (n) => `"a${n % 999}":${n}`)}}`,
  (bytes) => `[${distinct(bytes, () => `${'['.repeat(150)}${']'.repeat(150)}`)}]`,
];
const structures = shapes.map(madeOnce);
const texts: Value[] = [
  ...['a', ' ', '!', 'a@', '%41', '1:', 'https://a.', '\\u0000'].map(
    (part) => (bytes: number) => `"${part.repeat(bytes / Buffer.byteLength(part))}"`,
  ),
];

/** Of a kind that the schema refuses one stands for all: its type is all that is looked at. */
function valuesFor(given: Schema): Value[] {
  const schema = resolved(given);
  const types = [schema, ...(schema.anyOf ?? [])].flatMap((each) => resolved(each).type ?? []);
  const takes = (...of: string[]) => types.length === 0 || types.some((type) => of.includes(type));
  return [
    ...(takes('object', 'array') ? structures : structures.slice(-1)),
    ...(takes('string') ? texts : texts.slice(-1)),
  ];
}

/** Where in a body such values may stand, each as the JSON before and behind them. */
function positions(
  given: Schema,
  before = '',
  behind = '',
  kinds = new Set<string>(),
): [string, string, Value[]][] {
  // One member of a kind, such as a filter, stands for all in the body.
  const members = Object.entries(resolved(given).properties ?? {}).filter(([, schema]) => {
    const unimportant = { title: '', description: '', examples: [], maxLength: 0 };
    const kind = JSON.stringify({ ...schema, ...unimportant });
    const isNew = !kinds.has(kind);
    kinds.add(kind);
    return isNew;
  });
  return [
    [before, behind, valuesFor(given)],
    ...members.flatMap(([name, schema]) =>
      positions(schema, `${before}{"${name}":`, `}${behind}`, kinds),
    ),
  ];
}

/** Time of this thread, in which other processes do not count. */
function msSince(begun: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(begun);
  return (user + system) / 1_000;
}

/** 50 ms of a machine on which JSON.parse takes 15 ms for an event of the largest size. */
function msAllowed(): number {
  const begun = process.threadCpuUsage();
  JSON.parse(manyMembers);
  return (msSince(begun) * 50) / 15;
}

/** Other programs and garbage make single calls slower, never quicker. */
async function isOnceQuick(send: () => Promise<number>): Promise<boolean> {
  for (let attempt = 1; attempt <= 10; attempt++) {
    const ms = await send();
    if (ms <= 50 || ms <= msAllowed()) return true;
  }
  return false;
}

const manyMembers = `{${distinct(eventBytesMax, (n) => `"a${n}":0`)}}`;

const bodies = operations.flatMap(({ path, verb, call }) =>
  Object.values(call.requestBody?.content ?? {})
    .filter(() => !path.endsWith('/batch'))
    .map(({ schema }) => ({ path, verb, schema })),
);

test.each(bodies)(
  '$verb $path refuses any body of the largest size within 50 ms',
  async (each) => {
    const { id } = await service.tenant();
    const headers = {
      authorization: `Bearer ${platformKey}`,
      'content-type': 'application/json',
      'x-tenant-id': id,
      'x-access-reason': 'test',
    };
    const url = each.path.replace(/\{\w+\}/g, id);
    const bytes = (each.path === '/api/audit-logs' ? eventBytesMax : 64 * 1024) - 500;
    const send = async (payload: string) => {
      const request = { method: each.verb.toUpperCase() as 'POST', url, headers, payload };
      const begun = process.threadCpuUsage();
      const { statusCode } = await service.app.http.inject(request);
      expect(statusCode, payload.slice(0, 100)).toBeGreaterThanOrEqual(400);
      expect(statusCode, payload.slice(0, 100)).toBeLessThan(500);
      return msSince(begun);
    };
    for (const [before, behind, values] of positions(each.schema)) {
      for (const value of values) {
        const body = before + value(bytes) + behind;
        expect(await isOnceQuick(() => send(body)), body.slice(0, 80)).toBe(true);
      }
    }
  },
  180_000,
);
