import { eventIdFromUuid, importedEventUuid } from '@indelible/protocol';
import { idsOf } from '@indelible/testing/answers';
import { costlyRuns } from '@indelible/testing/arbitraries';
import {
  naiveMatches,
  naiveOrder,
  poolEvents,
  poolValues,
  queryOf,
  recordAll,
  type StoredFacts,
  storedFacts,
  tenantWithPool,
} from '@indelible/testing/event-pool';
import { growLog } from '@indelible/testing/grow-log';
import { expectLogIntact } from '@indelible/testing/intact';
import { at, planCutoff, tenantOf } from '@indelible/testing/retention-setup';
import { eventOf, testService } from '@indelible/testing/service';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const service = await testService();
const tenant = await tenantWithPool(service, 1_300);
const stored = await storedFacts(service, tenant.id);

const list = (query: string, key = tenant.key) =>
  service.call({ url: `/api/audit-logs?sort=sequence&${query}`, key });
const ids = (events: readonly StoredFacts[]) => events.map(({ id }) => id);

/** Follows nextCursor to the end; returns each page's ids. */
async function walk(query: string, key = tenant.key): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor = '';
  do {
    const answer = await list(`${query}${cursor}`, key);
    expect(answer.status).toBe(200);
    pages.push(idsOf(answer));
    const { nextCursor, hasMore, previousCursor, page } = answer.body.pagination;
    expect({ hasMore, previousCursor, page }).toEqual({
      hasMore: nextCursor !== null,
      previousCursor: null,
      page: null,
    });
    cursor = nextCursor === null ? '' : `&cursor=${nextCursor}`;
    expect(pages.length).toBeLessThan(1_000);
  } while (cursor !== '');
  return pages;
}

test('the order of the log has no gaps, whatever the times of its events', async () => {
  const answer = await list('limit=500');
  const sequences = answer.body.data.map((event: { sequence: number }) => event.sequence);
  expect(sequences).toEqual(Array.from({ length: 500 }, (_, index) => index));
  expect(idsOf(answer)).toEqual(ids(naiveOrder(stored, 'sequence', 'asc').slice(0, 500)));
});

test('every filter, order, limit and beginning: the pages are exactly the naive answer', async () => {
  const values = (name: keyof typeof poolValues) =>
    fc
      .uniqueArray(fc.tuple(fc.constantFrom(...poolValues[name]), fc.boolean()), {
        minLength: 1,
        maxLength: 3,
        selector: ([value]) => value.toLowerCase(),
      })
      .map((picked) => picked.map(([value, excluded]) => `${excluded ? '!' : ''}${value}`));
  const question = fc.oneof(
    fc.constant({}),
    fc.record({ user: values('user') }),
    fc.record({ action: values('action'), resource: values('resource') }),
    fc.record({ category: values('category'), cross_tenant: values('cross_tenant') }),
  );
  const after = fc.option(fc.integer({ min: 0, max: 1_400 }), { nil: undefined });
  const order = fc.constantFrom('asc' as const, 'desc' as const);
  const limit = fc.integer({ min: 60, max: 500 });
  await fc.assert(
    fc.asyncProperty(question, after, order, limit, async (q, beginning, way, max) => {
      const matching = naiveMatches(stored, q).filter(
        ({ sequence }) => beginning === undefined || sequence > beginning,
      );
      const begin = beginning === undefined ? {} : { after_sequence: beginning };
      const pages = await walk(queryOf(q, { order: way, limit: max, ...begin }));
      expect(pages.flat()).toEqual(ids(naiveOrder(matching, 'sequence', way)));
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(max);
    }),
    costlyRuns,
  );
});

test('a caller who polls with after_sequence sees every event once and in order, late ones too', async () => {
  const own = await service.tenant();
  const seen: { id: string; sequence: number }[] = [];
  const poll = async () => {
    const after = seen.at(-1)?.sequence;
    const query = after === undefined ? 'limit=7' : `limit=7&after_sequence=${after}`;
    let cursor = '';
    do {
      const { body } = await list(`${query}${cursor}`, own.key);
      seen.push(...body.data);
      const { nextCursor } = body.pagination;
      cursor = nextCursor === null ? '' : `&cursor=${nextCursor}`;
    } while (cursor !== '');
  };
  for (let round = 0; round < 8; round++) {
    // Each round is older than the one before.
    const events = poolEvents(round * 3, service.clock.now - round * 86_400_000, 1, round + 1);
    await recordAll(service, own.key, events);
    await poll();
  }
  const all = naiveOrder(await storedFacts(service, own.id), 'sequence', 'asc');
  expect(seen.map(({ id }) => id)).toEqual(ids(all));
  await expectLogIntact(service, own.id);
});

test('at the end of the log there is nothing, and no cursor', async () => {
  const last = stored.length - 1;
  for (const after of [last, last + 1, 10 ** 9, Number.MAX_SAFE_INTEGER]) {
    for (const order of ['asc', 'desc']) {
      const { status, body } = await list(`after_sequence=${after}&order=${order}`);
      expect([status, body.data, body.pagination.nextCursor]).toEqual([200, [], null]);
    }
  }
  expect((await list(`after_sequence=${last - 1}`)).body.data).toHaveLength(1);
});

test('a page that ends with the log has no cursor; one before it has', async () => {
  const after = stored.length - 11;
  const pagination = async (limit: number) =>
    (await list(`after_sequence=${after}&limit=${limit}`)).body.pagination;
  expect(await pagination(10)).toMatchObject({ hasMore: false, nextCursor: null });
  expect(await pagination(11)).toMatchObject({ hasMore: false, nextCursor: null });
  expect(await pagination(9)).toMatchObject({ hasMore: true });
});

test('page numbers and after_sequence of another sort are refused', async () => {
  expect((await list('page=1')).body.code).toBe('invalid_parameter');
  const url = '/api/audit-logs?after_sequence=5';
  expect((await service.call({ url, key: tenant.key })).body.code).toBe('invalid_parameter');
});

test('events that retention has hidden or removed are passed over, and no others', async () => {
  const own = await tenantOf(service, 'Pro', 366);
  const { now } = service.clock;
  const minute = 60_000;
  const receivedMs = planCutoff('Pro', now) + minute;
  const events = Array.from({ length: 600 }, (_, index) => {
    // One in three expires earlier: the others were stamped by a clock that was ahead.
    const ms = index % 3 === 0 ? receivedMs : receivedMs + 4 * minute;
    return eventOf({
      id: eventIdFromUuid(importedEventUuid(ms, index, Buffer.alloc(8, 1))),
      resource: { type: 'queue', id: own.id },
    });
  });
  await at(service, receivedMs, () => recordAll(service, own.key, events));
  await expectLogIntact(service, own.id);
  const kept = events.filter((_, index) => index % 3 !== 0).map(({ id }) => id);
  const query = `resource=queue&limit=50`;
  expect((await walk(query, own.key)).flat()).toHaveLength(600);
  service.clock.now += 3 * minute;
  expect((await walk(query, own.key)).flat()).toEqual(kept);
  // As the retention job does it, partition or not.
  const cutoff = eventIdAt(planCutoff('Pro', service.clock.now));
  await service.owner.query('DELETE FROM audit_events WHERE tenant_id = $1 AND id < $2', [
    own.id,
    cutoff,
  ]);
  expect((await walk(query, own.key)).flat()).toEqual(kept);
  expect((await walk(`${query}&order=desc`, own.key)).flat()).toEqual([...kept].reverse());
  service.clock.now = now;
});

const eventIdAt = (ms: number) =>
  `${ms
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')}-0000-0000-000000000000`;

test('a filter that matches rarely ends its pages early, and the cursor leads on to every match', async () => {
  const own = await service.tenant();
  const rare = (name: string) =>
    eventOf({ action: 'publish', resource: { type: 'ivr', id: own.id, name } });
  await recordAll(service, own.key, [rare('first')]);
  await recordAll(service, own.key, poolEvents(1_000, service.clock.now, 20, 100));
  await growLog(service, own.id, 11_000);
  await recordAll(service, own.key, [rare('last')]);
  for (const order of ['asc', 'desc']) {
    const pages = await walk(`action=publish&order=${order}`, own.key);
    expect(pages.map((page) => page.length)).toEqual([1, 1]);
    const names = await Promise.all(
      pages
        .flat()
        .map(
          async (id) =>
            (await service.call({ url: `/api/audit-logs/${id}`, key: own.key })).body.resource.name,
        ),
    );
    expect(names).toEqual(order === 'asc' ? ['first', 'last'] : ['last', 'first']);
  }
  const none = await walk('action=unheard_of', own.key);
  expect(none).toEqual([[], []]);
});

test('an event too large for what is left of a page begins the next one', async () => {
  const own = await service.tenant();
  const half = { text: 'x'.repeat(213_000) };
  const resource = { type: 'ivr', id: own.id };
  const large = Array.from({ length: 24 }, () =>
    eventOf({ resource, diff: {}, before: half, after: half }),
  );
  // 19 of them fit; the others lie behind everything that is looked at in one go.
  await recordAll(service, own.key, large.slice(0, 10));
  await recordAll(service, own.key, large.slice(10, 19));
  await recordAll(service, own.key, poolEvents(600, service.clock.now, 20, 5));
  await recordAll(service, own.key, large.slice(19));
  const query = `resource_id=${own.id}&resource=ivr&include=state`;
  expect((await walk(query, own.key)).map((page) => page.length)).toEqual([19, 5]);
  expect((await walk(`${query}&order=desc`, own.key)).map((page) => page.length)).toEqual([19, 5]);
  expect(new Set((await walk(query, own.key)).flat()).size).toBe(24);
});
