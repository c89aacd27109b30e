import { parseStrictJson } from '@indelible/protocol';
import { outcomesOf } from '@indelible/testing/answers';
import { recordingService } from '@indelible/testing/recording';
import { eventOf } from '@indelible/testing/service';
import { expect, test } from 'vitest';

const { service, tenant, record, read } = await recordingService();

const [kib, mib] = [1_024, 2 ** 20];

const send = (url: string, raw: string) =>
  service.call({ method: 'POST', url, key: tenant.key, raw });
const one = (raw: string) => send('/api/audit-logs', raw);
const batch = (raw: string) => send('/api/audit-logs/batch', raw);

/** JSON text of a valid event, exactly this long: states and diff carry the weight. */
function eventOfBytes(bytes: number): string {
  const state = { a: 'x'.repeat(256 * kib - 8) };
  const build = (weights: number[]) =>
    JSON.stringify(
      eventOf({
        before: state,
        after: state,
        diff: Object.fromEntries(
          weights.map((weight, at) => [`f${at}`, { from: 'y'.repeat(weight), to: 1 }]),
        ),
      }),
    );
  const rest = bytes - build([0, 0, 0]).length;
  const weights = [0, 1, 2].map((at) => Math.min(32 * kib, Math.max(0, rest - at * 32 * kib)));
  const text = build(weights);
  if (text.length !== bytes) throw new Error(`${text.length} bytes cannot be ${bytes}`);
  return text;
}

test('an event of 600 KiB is recorded, one byte more is too large', async () => {
  const largest = await one(eventOfBytes(600 * kib));
  expect(largest.status).toBe(201);
  const { body } = await read(largest.body.id);
  expect(body.before.a).toHaveLength(256 * kib - 8);
  const larger = await one(eventOfBytes(600 * kib + 1));
  expect([larger.status, larger.body.code]).toEqual([413, 'payload_too_large']);
});

test('the limit of an event is the same within a batch, and there it fails alone', async () => {
  const events = [eventOfBytes(600 * kib), eventOfBytes(600 * kib + 1), JSON.stringify(eventOf())];
  const { status, body } = await batch(`{"events":[${events.join()}]}`);
  expect(status).toBe(200);
  expect(outcomesOf({ body })).toEqual(['created', 'payload_too_large', 'created']);
});

test('a batch of 8 MiB is recorded, one byte more is too large and nothing of it is stored', async () => {
  const events = Array.from({ length: 13 }, () => eventOfBytes(600 * kib)).join();
  const text = `{"events":[${events},${JSON.stringify(eventOf())}`;
  const padded = (bytes: number) => `${text}${' '.repeat(bytes - text.length - 2)}]}`;
  const larger = await batch(padded(8 * mib + 1));
  expect([larger.status, larger.body.code]).toEqual([413, 'payload_too_large']);
  const largest = await batch(padded(8 * mib));
  expect(largest.body.results.map(({ sequence }: { sequence: number }) => sequence)).toEqual(
    Array.from({ length: 14 }, (_, at) => at + 2),
  );
});

test('a user agent of half a megabyte does not suppress the failed login it came with', async () => {
  const actor = { ...(eventOf().actor as object), userAgent: 'x'.repeat(500 * kib) };
  const { status, body } = await record({ actor, action: 'login_failed', diff: undefined });
  expect([status, body.warnings, body.actor.userAgent.length]).toEqual([201, ['truncated'], 1_024]);
});

const withRaw = (member: string) => JSON.stringify(eventOf()).replace(/\}$/, `,${member}}`);
const errorsOf = (body: { errors?: { path: string; code: string }[] }) =>
  body.errors?.map(({ path, code }) => `${path} ${code}`);

test('texts that no log can hold, and states that are too deep, are recorded with a warning', async () => {
  const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  const cases: [member: string, after: unknown][] = [
    ['"after":{"a":"\\u0000"}', { a: '⟨U+0000⟩' }],
    ['"after":{"a":"\\ud83d"}', { a: '⟨U+D83D⟩' }],
    ['"after":{"\\udc00":1}', { '⟨U+DC00⟩': 1 }],
    [`"after":${deep(33)}`, null],
    [`"after":${deep(150)}`, null],
  ];
  for (const [member, after] of cases) {
    const { status, body } = await one(withRaw(member));
    expect([status, body.after, body.warnings], member).toEqual([201, after, ['value_dropped']]);
    expect(body.warningPaths.value_dropped[0], member).toMatch(/^\/after/);
    const [result] = (await batch(`{"events":[${withRaw(member)}]}`)).body.results;
    expect(result).toMatchObject({ status: 'created', warningPaths: body.warningPaths });
  }
});

test('a stranger cannot type away the record of a failed log-in', async () => {
  const actor = {
    role: 'anonymous',
    email: "admin'--",
    ip: '203.0.113.7:51234',
    name: 'x'.repeat(5_000),
  };
  const { status, body } = await record({ actor, action: 'login_failed', diff: undefined });
  expect([status, body.actor.email, body.actor.ip]).toEqual([201, null, '203.0.113.7']);
  const shown = (await read(body.id)).body;
  expect(shown.asSent).toEqual({
    '/actor/email': "admin'--",
    '/actor/ip': '203.0.113.7:51234',
    '/actor/name': 'x'.repeat(1_000),
  });
  expect([body.asSent, shown.warningPaths]).toEqual([shown.asSent, undefined]);
  const found = await service.call({
    url: '/api/audit-logs?q=51234&ip=::ffff:203.0.113.7',
    key: tenant.key,
  });
  expect(found.body.data.map(({ id }: { id: string }) => id)).toEqual([body.id]);
  const [again] = (await batch(`{"events":[${JSON.stringify(imported(shown))}]}`)).body.results;
  expect(again).toMatchObject({ status: 'duplicate', id: body.id });
});

/** A shown event as an import sends it again. */
function imported(shown: Record<string, unknown>): Record<string, unknown> {
  const added = ['category', 'hasState', 'sequence', 'receivedAt', 'recordedBy'];
  return Object.fromEntries(Object.entries(shown).filter(([name]) => !added.includes(name)));
}

test('values that JSON can write and no log can prove are refused, with their path', async () => {
  const cases: [member: string, error: string][] = [
    ['"reason":"a","reason":"b"', '/reason duplicate_key'],
    ['"after":{"a":{"b":1,"c":2,"b":1}}', '/after/a/b duplicate_key'],
    ['"after":{"a":1,"\\u0061":2}', '/after/a duplicate_key'],
    ['"__proto__":{"reason":"x"}', '/__proto__ unknown_field'],
  ];
  for (const [member, error] of cases) {
    const alone = await one(withRaw(member));
    expect([alone.status, errorsOf(alone.body)], member).toEqual([422, [error]]);
    const among = await batch(`{"events":[${withRaw(member)}]}`);
    expect(errorsOf(among.body.results[0].error), member).toEqual([error]);
  }
});

test('on the other side of each edge it is recorded, and read again to the last digit', async () => {
  const states = [
    '{"a":9007199254740991,"b":-9007199254740991,"c":0.1,"d":1e-300,"e":5e-324}',
    `${'{"a":'.repeat(31)}{}${'}'.repeat(31)}`,
    '{"__proto__":{"polluted":true},"constructor":{"prototype":1},"hasOwnProperty":2}',
    '{"":{"":""},"a.b":1,"a/b":2,"a~b":3,"a\\nb":4,"\u2028":5,"😀":"\\"\\\\"}',
  ];
  for (const state of states) {
    const { status, body } = await one(withRaw(`"after":${state}`));
    expect(status, state).toBe(201);
    const { text } = await read(body.id);
    const { after } = parseStrictJson(text).value as { after: unknown };
    expect(JSON.stringify(sorted(after))).toBe(JSON.stringify(sorted(JSON.parse(state))));
  }
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test('numbers that a double would change are kept as texts in states, diff and metadata, with a warning', async () => {
  const states = '"before":{"balance":99999999999999.98},"after":{"balance":99999999999999.991}';
  const more = `"metadata":{"n":1e-400,"m":0.10},"diff":{"id":{"from":9007199254740993,"to":null}}`;
  const event = JSON.stringify(eventOf({ diff: undefined }));
  for (const sent of [`${event.slice(0, -1)},${states}}`, `${event.slice(0, -1)},${more}}`]) {
    const alone = await one(sent);
    expect([alone.status, alone.body.warnings]).toEqual([201, ['number_as_text']]);
    const among = await batch(`{"events":[${sent}]}`);
    expect(among.body.results[0].warnings).toEqual(['number_as_text']);
    const { diff, before, after, metadata } = (await read(alone.body.id)).body;
    if (sent.includes(more)) {
      expect(diff).toEqual({ id: { from: '9007199254740993', to: null } });
      expect(metadata).toEqual({ n: '1e-400', m: 0.1 });
    } else {
      expect([before, after]).toEqual([
        { balance: 99999999999999.98 },
        { balance: '99999999999999.991' },
      ]);
      expect(diff).toEqual({ balance: { from: before.balance, to: after.balance } });
    }
  }
});

/** Pairs in name order instead of objects, so that every member counts, `__proto__` too. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
}

test('the longest of every text is stored and read whole', async () => {
  const emoji = '😀';
  const event = eventOf({
    actor: {
      ...(eventOf().actor as object),
      email: `${'a'.repeat(318)}@b`,
      role: emoji.repeat(64),
      userAgent: emoji.repeat(1_024),
    },
    action: 'a'.repeat(64),
    resource: { ...(eventOf().resource as object), type: 'b'.repeat(64), name: emoji.repeat(200) },
    reason: emoji.repeat(1_000),
    diff: { ['k'.repeat(10_000)]: { from: emoji.repeat(8 * kib), to: null } },
  });
  const { status, body } = await record(event);
  expect([status, body.warnings]).toEqual([201, []]);
  expect((await read(body.id)).body).toMatchObject(event);
});
