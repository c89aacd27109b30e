import { costlyRuns } from '@indelible/testing/arbitraries';
import {
  naiveMatches,
  naiveOrder,
  type Question,
  queryOf,
  recordAll,
  storedFacts,
} from '@indelible/testing/event-pool';
import { eventOf, testService } from '@indelible/testing/service';
import fc from 'fast-check';
import { expect, test } from 'vitest';

/* Lists by user of actors who have several addresses, share some, have none, or have very many. */

const idOf = (n: number) => `10000000-0000-4000-8000-00000000000${n}`;
const addresses: Record<string, readonly string[]> = {
  [idOf(0)]: ['old@example.com', 'new@example.com'],
  [idOf(1)]: ['new@example.com', '', 'ZOË@example.com'],
  [idOf(2)]: ['shared@example.com'],
  [idOf(3)]: ['shared@example.com'],
  [idOf(4)]: [''],
  [idOf(5)]: Array.from({ length: 30 }, (_, n) => `typed${n}@example.com`),
};
const emails = ['NEW@example.com', 'shared@example.com', 'typed3@example.com'];
const users = [...Object.keys(addresses), ...emails, idOf(9), 'unknown@example.com'];
const actions = ['create', 'update', 'login'];

const service = await testService();
const tenant = await service.tenant('Enterprise');
const people = Object.entries(addresses).flatMap(([id, own]) =>
  own.map((email) => ({ id, email })),
);
const events = Array.from({ length: 400 }, (_, n) => {
  const { id, email } = people[(n * 7 + (n >> 5)) % people.length] ?? { id: idOf(0), email: '' };
  const actor = { id, role: 'admin', ...(email === '' ? {} : { email }) };
  return eventOf({ actor, action: actions[n % 3] });
});
await recordAll(service, tenant.key, events);
const stored = await storedFacts(service, tenant.id);

const list = async (query: string) => {
  const { status, body } = await service.call({ url: `/api/audit-logs?${query}`, key: tenant.key });
  expect(status).toBe(200);
  return body as {
    data: { id: string }[];
    pagination: { nextCursor: string | null; previousCursor: string | null };
  };
};

async function idsByCursor(query: string, way: 'nextCursor' | 'previousCursor', from?: string) {
  const pages: string[][] = [];
  let last: Awaited<ReturnType<typeof list>> | undefined;
  for (let cursor = from ?? null; last === undefined || cursor !== null; ) {
    last = await list(cursor === null ? query : `${query}&cursor=${cursor}`);
    pages.push(last.data.map(({ id }) => id));
    cursor = last.pagination[way];
  }
  return { pages, back: last.pagination.previousCursor };
}

const user = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...users), fc.nat(5)), {
    minLength: 1,
    maxLength: 5,
    selector: ([value]) => value.toLowerCase(),
  })
  .map((picked) => picked.map(([value, sign]) => (sign === 0 ? `!${value}` : value)));
const more = fc.constantFrom<Question>(
  ...[{}, {}, { action: ['update'] }, { action: ['!login'] }, { action: ['create', 'login'] }],
  ...[{ resource: ['queue'] }, { category: ['configuration'], action: ['update'] }],
);

test.each(['asc', 'desc'] as const)(
  'lists by user, %s, of some users hold exactly their events, by cursor in both directions and by number',
  async (order) => {
    const asked = fc.record({ user, more, pages: fc.integer({ min: 1, max: 9 }) });
    await fc.assert(
      fc.asyncProperty(asked, async ({ user, more, pages }) => {
        const question = { ...more, user };
        const expected = naiveOrder(naiveMatches(stored, question), 'user', order);
        const ids = expected.map(({ id }) => id);
        const limit = Math.max(1, Math.ceil(ids.length / pages));
        const query = queryOf(question, { sort: 'user', order, limit });
        const forwards = await idsByCursor(query, 'nextCursor');
        expect(forwards.pages.flat()).toEqual(ids);
        for (const [index, page] of forwards.pages.entries()) {
          const numbered = await list(`${query}&page=${index + 1}`);
          expect(numbered.data.map(({ id }) => id)).toEqual(page);
        }
        if (forwards.back === null) return;
        const backwards = await idsByCursor(query, 'previousCursor', forwards.back);
        expect(backwards.pages.reverse()).toEqual(forwards.pages.slice(0, -1));
      }),
      costlyRuns,
    );
  },
);
