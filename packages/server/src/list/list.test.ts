import { lateClass } from '@indelible/protocol';
import { idsOf, pathsOf } from '@indelible/testing/answers';
import { costlyRuns } from '@indelible/testing/arbitraries';
import {
  type Facets,
  naiveMatches,
  naiveOrder,
  poolValues,
  type Question,
  queryOf,
  recordAll,
  type StoredFacts,
  storedFacts,
  tenantWithPool,
} from '@indelible/testing/event-pool';
import { expectLogIntact } from '@indelible/testing/intact';
import { actorWith, eventOf, testService } from '@indelible/testing/service';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';

const day = 86_400_000;
const service = await testService();
const tenant = await tenantWithPool(service, 360);
await service.app.background.run('words'); // the words of the last events stay in no block
const stored = await storedFacts(service, tenant.id);

const list = (query: string, key = tenant.key) =>
  service.call({ url: `/api/audit-logs?${query}`, key });
const ids = (events: readonly StoredFacts[]) => events.map(({ id }) => id);

/**
 * Follows `nextCursor` to the end, or `previousCursor` to the beginning; returns each page's ids.
 */
async function walk(
  query: string,
  way: 'nextCursor' | 'previousCursor',
  { cursor, key }: { cursor?: string; key?: string } = {},
) {
  const pages: { ids: string[]; body: { pagination: Record<string, string> } }[] = [];
  let at: string | null = cursor ?? null;
  do {
    const answer = await list(`${query}${at === null ? '' : `&cursor=${at}`}`, key);
    expect(answer.status).toBe(200);
    expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(8 * 2 ** 20);
    expect(answer.body.pagination.hasMore).toBe(answer.body.pagination.nextCursor !== null);
    pages.push({ ids: idsOf(answer), body: answer.body });
    at = answer.body.pagination[way];
    expect(pages.length).toBeLessThan(500);
  } while (at !== null);
  return pages;
}

/** Up to four values of a facet, in any case and each perhaps excluded. */
const facet = (values: readonly string[], caseless = false) =>
  fc
    .uniqueArray(fc.tuple(fc.constantFrom(...values), fc.boolean(), fc.boolean()), {
      minLength: 1,
      maxLength: 4,
      selector: ([value]) => value.toLowerCase(),
    })
    .map((picked) =>
      picked.map(
        ([value, excluded, upper]) =>
          `${excluded ? '!' : ''}${upper && caseless ? value.toUpperCase() : value}`,
      ),
    );

const facets: fc.Arbitrary<Facets> = fc.record(
  {
    user: facet(poolValues.user, true),
    action: facet(poolValues.action),
    resource: facet(poolValues.resource),
    resource_id: facet(poolValues.resource_id, true),
    cross_tenant: facet(poolValues.cross_tenant),
    category: facet(poolValues.category),
    ip: facet(poolValues.ip, true),
    q: facet(poolValues.q, true),
  },
  { requiredKeys: [] },
);

/** Mostly few conditions, so that most questions have an answer. */
const question: fc.Arbitrary<Question> = fc
  .tuple(facets, fc.nat(), fc.nat(), fc.nat(), fc.integer({ min: 1, max: 63 }))
  .map(([all, pick, a, b, range]) => {
    const kept = Object.entries(all).filter((_, index) => (pick + index) % 3 === 0);
    const bounds = [a, b].map((n) => stored[n % stored.length]?.timeMs ?? 0).sort((x, y) => x - y);
    const [from = 0, to = 0] = bounds;
    return {
      ...Object.fromEntries(kept),
      ...(range % 3 === 0 ? { from } : {}),
      ...(range % 5 === 0 ? { to: Math.max(to, from + 1) } : {}),
    };
  });

test('an address is found in whichever spelling, and excluding it keeps events without one', async () => {
  const v6 = stored.filter(({ ip }) => ip === '2001:db8::1');
  const answer = await list('limit=500&ip=2001:DB8:0:0::0:1');
  expect(idsOf(answer)).toEqual(ids(naiveOrder(v6, 'timestamp', 'desc')));
  const others = stored.filter(({ ip }) => ip !== '2001:db8::1' && ip !== '203.0.113.7');
  expect(others.map(({ ip }) => ip)).toContain(null);
  const excluded = await list('limit=500&ip=!2001:db8::0001&ip=!203.0.113.7');
  expect(idsOf(excluded)).toEqual(ids(naiveOrder(others, 'timestamp', 'desc')));
  for (const wrong of ['localhost', '203.0.113.256', '10.0.0.0/8']) {
    expect((await list(`ip=${wrong}`)).body.code).toBe('invalid_parameter');
  }
});

test('every filter, sort, order and limit: the pages are exactly the naive answer, forwards, backwards and by number', async () => {
  const sort = fc.constantFrom('timestamp' as const, 'user' as const);
  const order = fc.constantFrom('asc' as const, 'desc' as const);
  await fc.assert(
    fc.asyncProperty(
      question,
      sort,
      order,
      fc.integer({ min: 1, max: 6 }),
      async (q, by, way, n) => {
        const expected = ids(naiveOrder(naiveMatches(stored, q), by, way));
        const limit = Math.max(1, Math.ceil(expected.length / n));
        const query = queryOf(q, { sort: by, order: way, limit });
        const pages = await walk(query, 'nextCursor');
        expect(pages.flatMap((page) => page.ids)).toEqual(expected);
        for (const [index, { ids: shown }] of pages.entries()) {
          expect(shown).toHaveLength(Math.min(limit, expected.length - index * limit));
          const byNumber = await list(`${query}&page=${index + 1}&include=total`);
          expect(idsOf(byNumber)).toEqual(shown);
          expect(byNumber.body.pagination).toMatchObject({
            page: index + 1,
            hasMore: index < pages.length - 1,
            total: { value: expected.length, relation: 'eq' },
          });
        }
        const back = pages.at(-1)?.body.pagination.previousCursor;
        const backwards = back ? await walk(query, 'previousCursor', { cursor: back }) : [];
        expect(backwards.map((page) => page.ids).reverse()).toEqual(
          pages.slice(0, -1).map((page) => page.ids),
        );
      },
    ),
    costlyRuns,
  );
});

test('pages lead through years of events, in either order and by number', async () => {
  const { now } = service.clock;
  const ages = [1_500, 800, 401, 399, 200, 32, 30, 1];
  service.clock.now = now - 1_501 * day;
  const own = await service.tenant('Enterprise');
  for (const age of ages) {
    service.clock.now = now - age * day;
    await recordAll(service, own.key, [eventOf({ action: 'login' })]);
  }
  service.clock.now = now;
  const logins = (await storedFacts(service, own.id)).filter(({ action }) => action === 'login');
  expect(logins).toHaveLength(ages.length);
  for (const order of ['asc', 'desc'] as const) {
    const query = `action=login&order=${order}&limit=3`;
    const pages = await walk(query, 'nextCursor', { key: own.key });
    expect(pages.flatMap((page) => page.ids)).toEqual(ids(naiveOrder(logins, 'timestamp', order)));
    for (const [index, { ids: shown }] of pages.entries())
      expect(idsOf(await list(`${query}&page=${index + 1}`, own.key))).toEqual(shown);
  }
});

test.each(
  Object.entries(poolValues).flatMap(([name, values]) => [
    [name, 'one', [values[0] ?? '']],
    [name, 'several', values.slice(0, 3)],
    [name, 'not one', [`!${values[0]}`]],
    [name, 'not several', values.slice(0, 2).map((value) => `!${value}`)],
    [name, 'some but not another', [values[0] ?? '', `!${values[1]}`]],
    [name, 'a stranger', [values.at(-1) ?? '']],
  ]),
)('%s filters by %s', async (name, _, values) => {
  const q = { [name as string]: values as string[] };
  const expected = ids(naiveOrder(naiveMatches(stored, q), 'timestamp', 'desc'));
  const answer = await list(queryOf(q, { limit: 500 }));
  expect(idsOf(answer)).toEqual(expected);
});

test('a user is found by id and by e-mail in any case, and an event that matches both comes once', async () => {
  const [id = '', email = ''] = poolValues.user;
  const found = async (...user: string[]) => idsOf(await list(queryOf({ user }, { limit: 500 })));
  const byId = await found(id);
  const byEmail = await found(email.toUpperCase());
  expect(byEmail).toEqual(await found(email.toLowerCase()));
  const both = await found(email, id.toUpperCase(), id);
  expect(both).toHaveLength(new Set(both).size);
  expect(new Set(both)).toEqual(new Set([...byId, ...byEmail]));
  expect(byId.filter((each) => byEmail.includes(each)).length).toBeGreaterThan(0);
  expect(both.length).toBeGreaterThan(Math.max(byId.length, byEmail.length));
});

test.each([
  ['ids alone', poolValues.user.filter((value) => !value.includes('@')).slice(0, 3)],
  ['addresses alone', poolValues.user.filter((value) => value.includes('@')).slice(0, 3)],
  ['strangers alone', ['90000000-0000-4000-8000-000000000000', 'stranger@example.com']],
])('several users are found by %s', async (_, user) => {
  for (const sort of ['timestamp', 'user'] as const) {
    const expected = ids(naiveOrder(naiveMatches(stored, { user }), sort, 'desc'));
    const query = queryOf({ user }, { sort, order: 'desc', limit: 500 });
    expect(idsOf(await list(query))).toEqual(expected);
  }
});

test('twenty values of a filter are one question, answered in order', async () => {
  const user = Array.from({ length: 15 }, (_, index) => `stranger${index}@example.com`);
  user.push(...poolValues.user.slice(0, 4), '!nobody@example.com');
  for (const sort of ['timestamp', 'user'] as const) {
    const expected = naiveOrder(naiveMatches(stored, { user }), sort, 'asc');
    const answer = await list(queryOf({ user }, { sort, order: 'asc', limit: 500 }));
    expect(idsOf(answer)).toEqual(ids(expected));
    expect(expected.length).toBeGreaterThan(0);
  }
});

test('a list without parameters has the newest fifty events, of every class in one order', async () => {
  const newest = naiveOrder(stored, 'timestamp', 'desc').slice(0, 50);
  const answer = await list('');
  expect(idsOf(answer)).toEqual(ids(newest));
  const classes = new Set(newest.map(({ retentionClass }) => retentionClass));
  expect(classes).toEqual(new Set([1, 2, 3, lateClass]));
  expect(answer.body.pagination).toMatchObject({
    limit: 50,
    page: 1,
    hasMore: true,
    previousCursor: null,
  });
  expect(answer.body.pagination).not.toHaveProperty('total');
  expect(answer.body.data[0]).not.toHaveProperty('before');
});

test('every wrong parameter is named at once', async () => {
  const { status, body } = await list('limit=0&order=up&from=never&resource_id=x&page=1&cursor=y');
  expect([status, body.code]).toEqual([400, 'invalid_parameter']);
  expect(new Set(pathsOf({ body }))).toEqual(
    new Set(['limit', 'order', 'from', 'resource_id', 'page']),
  );
});

test('Link headers lead through the whole list as they are, and back', async () => {
  const linkOf = (answer: { headers: Record<string, unknown> }, rel: string) =>
    new RegExp(`<([^>]+)>; rel="${rel}"`).exec(String(answer.headers.link ?? ''))?.[1];
  const q = { user: ['!ZOË@example.com'], action: ['create', 'update', 'login'] };
  const expected = ids(naiveOrder(naiveMatches(stored, q), 'timestamp', 'desc'));
  const seen: string[][] = [];
  let url: string | undefined = `/api/audit-logs?${queryOf(q, { limit: 40, page: 1 })}`;
  let answer = await service.call({ url, key: tenant.key });
  expect(linkOf(answer, 'prev')).toBeUndefined();
  for (;;) {
    seen.push(idsOf(answer));
    url = linkOf(answer, 'next');
    if (url === undefined) break;
    const { origin, pathname, search } = new URL(url);
    expect(origin).toBe('http://127.0.0.1:3000');
    answer = await service.call({ url: `${pathname}${search}`, key: tenant.key });
  }
  expect(seen.flat()).toEqual(expected);
  expect(seen.length).toBeGreaterThan(2);
  const { pathname, search } = new URL(linkOf(answer, 'prev') ?? '');
  expect(idsOf(await service.call({ url: `${pathname}${search}`, key: tenant.key }))).toEqual(
    seen.at(-2),
  );
});

test('states come only on request, and only of one resource', async () => {
  const own = await service.tenant();
  const id = '30000000-0000-4000-8000-000000000001';
  const states = { before: { a: 1 }, after: { a: 2, secret: 'x' } };
  const resource = { type: 'ivr', id, name: 'Main' };
  await recordAll(service, own.key, [eventOf({ resource, ...states }), eventOf({ resource })]);
  const plain = await list(`resource_id=${id}`, own.key);
  const hasState = plain.body.data.map((event: { hasState: boolean }) => event.hasState);
  expect(hasState.sort()).toEqual([false, true]);
  for (const event of plain.body.data) expect(event).not.toHaveProperty('after');
  for (const sort of ['timestamp', 'user', 'sequence']) {
    const { body } = await list(`resource_id=${id}&include=state&sort=${sort}`, own.key);
    const shown = body.data.map((event: object) => ('after' in event ? event.after : 'missing'));
    expect(shown).toEqual(expect.arrayContaining([null, { a: 2, secret: '[masked]' }]));
  }
  for (const query of ['', `resource_id=!${id}`, `resource_id=${id}&resource_id=${own.id}`]) {
    expect((await list(`include=state&${query}`, own.key)).body.code).toBe('invalid_parameter');
  }
  await expectLogIntact(service, own.id);
});

const large = { text: 'x'.repeat(250_000) };
const longTexts = Array.from({ length: 50 }, (_, n) => [`k${n}`, '\u{10000}'.repeat(500)]);
describe.each([
  ['states', { diff: {}, before: large, after: large }, '&include=state', [16, 16, 1]],
  ['metadata', { metadata: Object.fromEntries(longTexts) }, '', [82, 8]],
] as const)(
  'a page of long %s ends at 8 MiB, and the cursor leads on',
  (_, fields, more, sizes) => {
    const id = '30000000-0000-4000-8000-000000000002';
    const count = sizes.reduce((sum, size) => sum + size, 0);
    let key: string;
    beforeAll(async () => {
      ({ key } = await service.tenant());
      const events = Array.from({ length: count }, () =>
        eventOf({ resource: { type: 'ivr', id }, ...fields }),
      );
      for (let at = 0; at < events.length; at += 15) {
        await recordAll(service, key, events.slice(at, at + 15));
      }
    });

    test.each(
      ['timestamp', 'user', 'sequence'].flatMap((sort) => [
        [sort, 'asc'],
        [sort, 'desc'],
      ]),
    )('by %s, %s', async (sort, order) => {
      const query = `resource_id=${id}${more}&limit=500&sort=${sort}&order=${order}`;
      const pages = await walk(query, 'nextCursor', { key });
      expect(pages.map(({ ids }) => ids.length)).toEqual(sizes);
      expect(new Set(pages.flatMap(({ ids }) => ids)).size).toBe(count);
    });
  },
);

test('a page of several users, each found by a statement of its own, ends at 8 MiB too', async () => {
  const { key } = await service.tenant();
  const emails = Array.from({ length: 17 }, (_, n) => `user${n}@example.com`);
  const values = Array.from({ length: 17 }, (_, n) => [n, { from: 'x'.repeat(32_000), to: null }]);
  for (const email of emails) {
    const event = eventOf({ actor: actorWith({ email }), diff: Object.fromEntries(values) });
    await recordAll(service, key, [event]);
  }
  const query = `limit=500&sort=user&${emails.map((email) => `user=${email}`).join('&')}`;
  const pages = await walk(query, 'nextCursor', { key });
  expect(pages.map(({ ids }) => ids.length)).toEqual([15, 2]);
});

test('an empty log lists nothing: only its own beginning', async () => {
  const own = await service.tenant();
  const { body } = await list('action=update', own.key);
  expect(body.data).toEqual([]);
  expect(body.pagination).toEqual({
    limit: 50,
    page: 1,
    hasMore: false,
    nextCursor: null,
    previousCursor: null,
  });
});

test('totals are exact up to 10,000; one more is "at least 10,000"', async () => {
  const own = await service.tenant();
  // Straight into the table: what is counted is rows, and recording so many takes its time.
  await service.owner.query(
    `INSERT INTO audit_events SELECT $1, (lpad(to_hex($2::bigint - n), 12, '0') || '7000800000000000' || lpad(to_hex(n), 4, '0'))::uuid,
       n, now(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 2, false, 'service', null, '', 'admin', null, null,
       'view', 'queue', null, 'data_access', null, '{}', null, null, decode(repeat('00', 48), 'hex')
     FROM generate_series(1, 9999) n`,
    [own.id, service.clock.now],
  );
  const total = async () =>
    (await list('category=data_access&limit=1&include=total', own.key)).body.pagination.total;
  const one = () => recordAll(service, own.key, [eventOf({ action: 'view' })]);
  expect(await total()).toEqual({ value: 9_999, relation: 'eq' });
  await one();
  expect(await total()).toEqual({ value: 10_000, relation: 'eq' });
  await one();
  expect(await total()).toEqual({ value: 10_000, relation: 'gte' });
});
