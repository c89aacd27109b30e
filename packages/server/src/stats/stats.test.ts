import { eventIdFromUuid, importedEventUuid } from '@indelible/protocol';
import { costlyRuns } from '@indelible/testing/arbitraries';
import { eraseNow } from '@indelible/testing/erasure-setup';
import {
  naiveMatches,
  poolValues,
  type Question,
  queryOf,
  recordAll,
  type StoredFacts,
  storedFacts,
  tenantWithPool,
} from '@indelible/testing/event-pool';
import { eventOf, testService } from '@indelible/testing/service';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const day = 86_400_000;
const groupKeys = ['minute', 'hour', 'day', 'user', 'action', 'resource', 'category'] as const;
type GroupKey = (typeof groupKeys)[number];

const service = await testService();
// Behind a change of clocks in Europe, America and Australia.
service.clock.now = Date.UTC(2026, 10, 20, 12);
const tenant = await tenantWithPool(service, 400);
const stored = await storedFacts(service, tenant.id);

const stats = (query: string, key = tenant.key) =>
  service.call({ url: `/api/audit-logs/stats?${query}`, key });
const at = (ms: number, more: Record<string, unknown> = {}) =>
  eventOf({ timestamp: new Date(ms).toISOString(), ...more });

/** The wall clock's reading with its offset, in another way than the code under test reads it. */
function localText(ms: number, unit: 'minute' | 'hour' | 'day', timeZone: string): string {
  const options = { timeZone, dateStyle: 'short', timeStyle: 'long' } as const;
  const text = new Intl.DateTimeFormat('sv-SE', options).format(ms);
  if (unit === 'day') return text.slice(0, 10);
  return text.slice(0, unit === 'hour' ? 13 : 16) + text.slice(19);
}

function keyOf(event: StoredFacts, key: GroupKey, timeZone: string): string {
  if (key === 'user') return event.actorId;
  if (key === 'action') return event.action;
  if (key === 'resource') return event.resourceType;
  if (key === 'category') return event.category;
  return localText(event.timeMs, key, timeZone);
}

/** Keys, joined, and counts, without an order. */
function naiveCounts(events: readonly StoredFacts[], keys: readonly GroupKey[], timeZone: string) {
  const counts = new Map<string, number>();
  for (const event of events) {
    const group = keys.map((key) => keyOf(event, key, timeZone)).join(' | ');
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  return counts;
}

function answeredCounts(data: Record<string, string>[], keys: readonly GroupKey[], zone: string) {
  const text = (row: Record<string, string>, key: GroupKey) => {
    const value = row[key] ?? '';
    return isTime(key) ? localText(Date.parse(value), key as 'day', zone) : value;
  };
  return new Map(data.map((row) => [keys.map((key) => text(row, key)).join(' | '), row.count]));
}

const isTime = (key: GroupKey) => key === 'minute' || key === 'hour' || key === 'day';
const singles = groupKeys.map((key) => [key]);
const pairs = groupKeys.flatMap((first) =>
  groupKeys
    .filter((second) => second !== first && !(isTime(first) && isTime(second)))
    .map((second) => [first, second]),
);

test('by every key and pair, zone and filter the counts are the naive ones', async () => {
  const zones = [
    'UTC',
    'Europe/Berlin',
    'America/Sao_Paulo',
    'Asia/Kathmandu',
    'Australia/Lord_Howe',
  ];
  const values = (name: keyof typeof poolValues) =>
    fc
      .array(fc.constantFrom(...poolValues[name]), { minLength: 1, maxLength: 3 })
      .chain((some) => fc.boolean().map((not) => some.map((v) => (not ? `!${v}` : v))));
  const question: fc.Arbitrary<Question> = fc.record(
    { user: values('user'), action: values('action'), category: values('category') },
    { requiredKeys: [] },
  );
  const length = fc.integer({ min: 1, max: 40 });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...singles, ...pairs),
      fc.constantFrom(...zones),
      question,
      length,
      async (keys, zone, q, days) => {
        const to = service.clock.now - (days % 7) * day;
        const range = { ...q, from: to - days * day, to };
        const query = queryOf(range, { group_by: keys.join(','), time_zone: zone });
        const { status, body } = await stats(query);
        expect(status).toBe(200);
        const expected = naiveMatches(stored, range);
        expect(answeredCounts(body.data, keys, zone)).toEqual(naiveCounts(expected, keys, zone));
        expect(body.total).toBe(expected.length);
      },
    ),
    costlyRuns,
  );
});

test.each(groupKeys.filter((key) => key !== 'minute'))(
  'the whole of the log is counted by %s, over every class',
  async (key) => {
    const zone = 'Europe/Berlin';
    const { body } = await stats(`group_by=${key}&from=2020-01-01&time_zone=${zone}`);
    expect(answeredCounts(body.data, [key], zone)).toEqual(naiveCounts(stored, [key], zone));
  },
);

test('a row is the keys asked for, the e-mail of a user, and the count; times come in order, others by count', async () => {
  const own = await service.tenant();
  const now = service.clock.now;
  const person = (n: number, email: string | null) => ({
    actor: { id: `10000000-0000-4000-8000-00000000000${n}`, email, role: 'admin' },
    action: 'login',
  });
  await recordAll(service, own.key, [
    at(now - 3 * day, person(1, 'Zed@example.com')),
    at(now - 2 * day, person(1, 'Ana@example.com')),
    at(now - day, person(1, null)),
    at(now - day, person(2, null)),
  ]);
  const byUser = await stats('group_by=user&action=login', own.key);
  expect(byUser.body).toEqual({
    data: [
      { user: '10000000-0000-4000-8000-000000000001', email: 'Ana@example.com', count: 3 },
      { user: '10000000-0000-4000-8000-000000000002', email: null, count: 1 },
    ],
    total: 4,
  });
  const all = await stats('group_by=user', own.key);
  expect(all.body.data).toEqual(expect.arrayContaining(byUser.body.data));
  const byDay = await stats('group_by=action,day&action=login', own.key);
  const at0 = (days: number) => new Date(Date.UTC(2026, 10, 20 - days)).toISOString();
  expect(byDay.body).toEqual({
    data: [
      { action: 'login', day: at0(3), count: 1 },
      { action: 'login', day: at0(2), count: 1 },
      { action: 'login', day: at0(1), count: 2 },
    ],
    total: 4,
  });
  expect((await stats('group_by=category&category=integration', own.key)).body).toEqual({
    data: [],
    total: 0,
  });
});

test('an erased address is in no statistics; the number of its events stays', async () => {
  const own = await service.tenant();
  const [zed, ana] = [
    '40000000-0000-4000-8000-000000000000',
    '50000000-0000-4000-8000-000000000000',
  ];
  const by = (id: string, email: string, days: number) =>
    at(service.clock.now - days * day, { actor: { id, email, role: 'admin' }, action: 'login' });
  const events = [by(ana, 'Quetzal@example.com', 1), by(zed, 'zed@example.com', 1)];
  await recordAll(service, own.key, [...events, by(ana, 'Ana@example.com', 2)]);
  const emails = async (keys: string): Promise<string[]> => {
    const { body } = await stats(`group_by=${keys}&action=login`, own.key);
    return body.data.map((row: Record<string, string>) => `${row.user} ${row.email} ${row.count}`);
  };
  const last = `${ana} Quetzal@example.com 1`;
  expect(await emails('day,user')).toEqual([last, `${zed} zed@example.com 1`, last]);
  await eraseNow(service, { tenantId: own.id, actor: ana });
  expect(await emails('user')).toEqual([`${ana} null 2`, `${zed} zed@example.com 1`]);
});

test('statistics without a range count the last thirty days; an end alone counts thirty days before it', async () => {
  const own = await service.tenant();
  const now = service.clock.now;
  const login = { action: 'login' };
  const days = [0, 29.9, 30, 30.1, 45, 60, 61].map((n) => at(now - n * day, login));
  await recordAll(service, own.key, [...days, at(now + 4 * 60_000, login)]);
  const total = async (query: string) =>
    (await stats(`group_by=action&action=login${query}`, own.key)).body.total;
  expect(await total('')).toBe(4);
  expect(await total(`&from=${new Date(now - 45 * day).toISOString()}`)).toBe(6);
  expect(await total(`&to=${new Date(now - 30 * day).toISOString()}`)).toBe(3);
  expect(await total('&from=2000-01-01&to=2200-01-01')).toBe(8);
  expect(await total('&from=2200-01-01')).toBe(0);
  for (const unit of ['minute', 'hour', 'day']) {
    const { body } = await stats(`group_by=${unit}&action=login`, own.key);
    expect([unit, body.total]).toEqual([unit, 4]);
    const future = await stats(`group_by=${unit}&action=login&from=2200-01-01`, own.key);
    expect(future.body).toEqual({ data: [], total: 0 });
  }
});

test('a day of twenty-five hours is one day and twenty-five hours, and a skipped hour is none', async () => {
  const own = await service.tenant();
  const start = Date.UTC(2026, 9, 24, 22); // midnight of 25 October in Berlin
  const hourly = Array.from({ length: 25 }, (_, hour) => at(start + hour * 3_600_000));
  const spring = Date.UTC(2026, 2, 28, 23); // midnight of 29 March
  const springHours = Array.from({ length: 23 }, (_, hour) => at(spring + hour * 3_600_000));
  await recordAll(service, own.key, [...hourly, ...springHours]);
  const counted = async (unit: string, from: number, hours: number) => {
    const range = queryOf({ from, to: from + hours * 3_600_000, action: ['update'] });
    const { body } = await stats(`${range}&group_by=${unit}&time_zone=Europe/Berlin`, own.key);
    return body.data.map((row: { count: number }) => row.count);
  };
  expect(await counted('day', start, 25)).toEqual([25]);
  expect(await counted('hour', start, 25)).toEqual(Array(25).fill(1));
  expect(await counted('day', spring, 23)).toEqual([23]);
  expect(await counted('hour', spring, 23)).toEqual(Array(23).fill(1));
});

test('ten thousand groups are an answer; more are refused with a sentence that says so', async () => {
  const own = await service.tenant();
  // Straight into the table: what is grouped is rows, and recording so many takes its time.
  const insert = (first: number, last: number) =>
    service.owner.query(
      `INSERT INTO audit_events SELECT $1, (lpad(to_hex($2::bigint - n * 60000), 12, '0') || '7000800000000000' || lpad(to_hex(n), 4, '0'))::uuid,
         n, now(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 2, false, 'service', null, '', 'admin', null, null,
         'view', 'kind_' || n, null, 'data_access', null, '{}', null, null, decode(repeat('00', 48), 'hex')
       FROM generate_series($3::int, $4::int) n`,
      [own.id, service.clock.now, first, last],
    );
  await insert(1, 10_000);
  for (const key of ['resource', 'minute', 'user', 'action,resource']) {
    const { status, body } = await stats(`group_by=${key}&category=data_access`, own.key);
    expect([status, body.data.length, body.total]).toEqual([200, 10_000, 10_000]);
  }
  await insert(10_001, 10_001);
  for (const key of ['resource', 'minute', 'user', 'action,resource']) {
    const { status, body } = await stats(`group_by=${key}&category=data_access`, own.key);
    expect([status, body.code, body.errors[0].path]).toEqual([
      400,
      'invalid_parameter',
      'group_by',
    ]);
    expect(body.detail).toMatch(/more than 10000 groups/);
  }
  const coarse = await stats('group_by=category&category=data_access', own.key);
  expect(coarse.body.total).toBe(10_001);
});

test('a range of too many minutes is refused before it is counted', async () => {
  const { body } = await stats('group_by=minute&from=2026-01-01');
  expect([body.code, body.errors[0].path]).toEqual(['invalid_parameter', 'group_by']);
  expect(body.detail).toMatch(/65000 buckets/);
  // What the plan does not show, and what cannot have happened yet, makes no buckets.
  const own = await service.tenant();
  const all = 'from=1970-01-01&to=9999-12-31';
  expect((await stats(`group_by=hour&${all}`, own.key)).body.total).toBe(2);
});

test('under legal hold even the oldest events stand in their own bucket', async () => {
  const own = await service.tenant();
  const url = `/api/tenants/${own.id}`;
  await service.call({ method: 'PUT', url, body: { legalHold: true } });
  const ms = Date.UTC(2003, 4, 6, 7, 8);
  const id = eventIdFromUuid(importedEventUuid(ms, 0, Buffer.alloc(8)));
  await recordAll(service, own.key, [eventOf({ id, action: 'login' })]);
  const { body } = await stats('group_by=day&from=1990-01-01&action=login', own.key);
  expect(body).toEqual({ data: [{ day: '2003-05-06T00:00:00.000Z', count: 1 }], total: 1 });
});

test.each([
  ['group_by=', 'invalid_parameter', 'group_by'],
  ['', 'invalid_parameter', 'group_by'],
  ['group_by=week', 'invalid_parameter', 'group_by'],
  ['group_by=resource_id', 'invalid_parameter', 'group_by'],
  ['group_by=day,hour', 'invalid_parameter', 'group_by'],
  ['group_by=user,action,resource', 'invalid_parameter', 'group_by'],
  ['group_by=user&group_by=user', 'invalid_parameter', 'group_by'],
  ['group_by=day&time_zone=Mars/Olympus', 'invalid_parameter', 'time_zone'],
  ['group_by=day&time_zone=%2B02:00', 'invalid_parameter', 'time_zone'],
  ['group_by=day&time_zone=UTC&time_zone=UTC', 'invalid_parameter', 'time_zone'],
  ['group_by=day&from=2026-01-02&to=2026-01-01', 'invalid_parameter', 'to'],
  ['group_by=day&timezone=UTC', 'unknown_parameter', 'timezone'],
  ['group_by=day&limit=10', 'unknown_parameter', 'limit'],
  ['group_by=day&sort=user', 'unknown_parameter', 'sort'],
  ['group_by=day&groupBy=user', 'unknown_parameter', 'groupBy'],
])('stats?%s is refused', async (query, code, path) => {
  const { status, body } = await stats(query);
  expect([status, body.code, body.errors[0].path]).toEqual([400, code, path]);
});
