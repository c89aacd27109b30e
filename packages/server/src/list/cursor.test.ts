import { eventIdFromUuid, importedEventUuid } from '@indelible/protocol';
import { idsOf } from '@indelible/testing/answers';
import { poolEvents, recordAll } from '@indelible/testing/event-pool';
import { expectLogIntact } from '@indelible/testing/intact';
import { eventOf, testService } from '@indelible/testing/service';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCursorSeal } from './list-cursor.ts';

let tenant: { id: string; key: string };

const list = (query: string, key = tenant.key) =>
  service.call({ url: `/api/audit-logs?${query}`, key });

const service = await testService();
tenant = await service.tenant();
await recordAll(service, tenant.key, poolEvents(40, service.clock.now, 60));
/** A cursor of the tenant's plain list, three events a page. */
const cursor = (await list('limit=3')).body.pagination.nextCursor;

/** The code of the refusal, or the number of events. */
async function outcome(query: string, key = tenant.key): Promise<string | number> {
  const { status, body } = await list(query, key);
  if (status === 200) return body.data.length;
  expect(status).toBe(400);
  return body.code;
}

test('a cursor is opaque text that needs no escaping, and works with any limit and extras', async () => {
  expect(cursor).toMatch(/^[\w-]+$/);
  expect(await outcome(`cursor=${cursor}`)).toBeGreaterThan(30);
  expect(await outcome(`cursor=${cursor}&limit=7&include=total`)).toBe(7);
});

test('no change of a cursor makes another cursor', async () => {
  const bytes = Buffer.from(cursor, 'base64url');
  for (const [at, byte] of bytes.entries()) {
    const changed = Buffer.from(bytes);
    changed[at] = byte ^ (1 << (at % 8));
    expect(await outcome(`cursor=${changed.toString('base64url')}`)).toBe('invalid_cursor');
  }
  const last = cursor.at(-1) === 'A' ? 'B' : 'A';
  for (const text of [
    cursor.slice(0, -1),
    cursor.slice(0, 21),
    cursor.slice(1),
    cursor.slice(0, -1) + last,
    `${cursor}A`,
    `${cursor}=`,
    `${cursor}${cursor}`,
    bytes.toString('base64'),
    '-',
    'null',
    '[]',
    "' OR 1=1",
    Buffer.from('["next","",0]').toString('base64url'),
  ].filter((text) => text !== cursor)) {
    expect(await outcome(new URLSearchParams({ cursor: text }).toString())).toBe('invalid_cursor');
  }
});

test('a cursor of any text gets a page or a refusal of the cursor', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string({ minLength: 1 }), fc.base64String()), async (text) => {
      const code = await outcome(new URLSearchParams({ cursor: text }).toString());
      // What is no text at all is refused before it is judged as a cursor.
      expect(['invalid_cursor', 'invalid_parameter']).toContain(code);
    }),
    { numRuns: 50 },
  );
});

test('the cursor of another tenant is refused, even for the same filter', async () => {
  const other = await service.tenant();
  await recordAll(service, other.key, poolEvents(10, service.clock.now, 60));
  expect(await outcome(`cursor=${cursor}`, other.key)).toBe('invalid_cursor');
  const theirs = (await list('limit=3', other.key)).body.pagination.nextCursor;
  expect(await outcome(`cursor=${theirs}`)).toBe('invalid_cursor');
});

test.each([
  ...['action=create', 'action=!create', 'user=ana@example.com', 'resource=queue'],
  ...['resource_id=20000000-0000-4000-8000-000000000000', 'category=security'],
  ...['cross_tenant=false', 'from=2020-01-01', 'to=2100-01-01', 'order=asc', 'sort=user'],
  ...['sort=user&order=desc', 'sort=sequence', 'sort=sequence&order=desc'],
  'sort=sequence&after_sequence=0',
])('a cursor belongs to its list: with %s it is refused, and theirs without', async (other) => {
  expect(await outcome(`cursor=${cursor}&${other}`)).toBe('invalid_cursor');
  const theirs = (await list(`limit=1&${other}`)).body.pagination.nextCursor;
  expect(await outcome(`cursor=${theirs}&${other}`)).toBeGreaterThan(0);
  expect(await outcome(`cursor=${theirs}`)).toBe('invalid_cursor');
});

test('the same filter in another spelling keeps the cursor', async () => {
  const a = 'user=ana@example.com&user=10000000-0000-4000-8000-000000000002&action=!send';
  const b = 'action=!send&user=10000000-0000-4000-8000-000000000002&user=ANA@Example.com&limit=9';
  const { nextCursor } = (await list(`${a}&limit=1`)).body.pagination;
  const again = await list(`${b}&cursor=${nextCursor}`);
  expect(again.status).toBe(200);
  expect(idsOf(again)).toEqual(idsOf(await list(`${a}&limit=10`)).slice(1));
});

test('a cursor is authenticated by the service that wrote it', () => {
  const query = {
    filter: {},
    sort: 'timestamp' as const,
    order: 'desc' as const,
    limit: 1,
    include: { total: false, state: false },
  };
  const position = { direction: 'next' as const, uuid: tenant.id, emailKey: '', sequence: 0 };
  const ours = createCursorSeal(new Uint8Array(32).fill(1));
  const sealed = ours.write(tenant.id, query, position);
  expect(ours.read(tenant.id, query, sealed)).toEqual(position);
  const theirs = createCursorSeal(new Uint8Array(32).fill(2));
  expect(() => theirs.read(tenant.id, query, sealed)).toThrow(/cursor/);
});

/** An event of that moment; the later of two in one millisecond has the greater number. */
const at = (ms: number, number: number) =>
  eventOf({ id: eventIdFromUuid(importedEventUuid(ms, number, Buffer.alloc(8, number))) });

test.each([
  ...['timestamp', 'timestamp&order=asc', 'user', 'user&order=desc', 'sequence'],
  'sequence&order=desc',
])(
  'sort=%s: read page by page while events arrive, old and new, nothing comes twice and what was there comes once',
  async (sort) => {
    const own = await service.tenant();
    const { now } = service.clock;
    const start = Array.from({ length: 20 }, (_, index) => at(now - index * 60_000, 1));
    await recordAll(service, own.key, start);
    const before = new Set(idsOf(await list('limit=500', own.key)));
    const seen: string[] = [];
    let query = '';
    for (let page = 0; query !== '&done'; page++) {
      const answer = await list(`sort=${sort}&limit=4${query}`, own.key);
      seen.push(...idsOf(answer));
      const { nextCursor } = answer.body.pagination;
      query = nextCursor === null || page > 60 ? '&done' : `&cursor=${nextCursor}`;
      // Newer than all, older than all, and in the very milliseconds of those that were there.
      if (page > 8) continue;
      const late = now - 3_600_000 - page;
      const same = now - (page % 20) * 60_000;
      await recordAll(service, own.key, [
        at(now + 1 + page, 2),
        at(late, 2),
        at(same, 0),
        at(same, 3 + page),
      ]);
    }
    expect(seen).toHaveLength(new Set(seen).size);
    expect(seen.filter((id) => before.has(id))).toHaveLength(before.size);
    await expectLogIntact(service, own.id);
  },
);

test('going back from a page shows what has arrived before it, and everything once', async () => {
  const own = await service.tenant();
  const { now } = service.clock;
  const start = Array.from({ length: 9 }, (_, index) => at(now - index * 60_000, 1));
  await recordAll(service, own.key, start);
  const first = await list('limit=5', own.key);
  const second = await list(`limit=5&cursor=${first.body.pagination.nextCursor}`, own.key);
  const newer = Array.from({ length: 3 }, (_, index) => at(now + 1 + index, 1));
  await recordAll(service, own.key, newer);
  let back = await list(`limit=5&cursor=${second.body.pagination.previousCursor}`, own.key);
  expect(idsOf(back)).toEqual(idsOf(first));
  expect(back.body.pagination).toMatchObject({ hasMore: true, page: null });
  back = await list(`limit=5&cursor=${back.body.pagination.previousCursor}`, own.key);
  expect(idsOf(back)).toEqual(newer.map(({ id }) => id).reverse());
  expect(back.body.pagination.previousCursor).toBeNull();
  const forward = await list(`limit=5&cursor=${back.body.pagination.nextCursor}`, own.key);
  expect(idsOf(forward)).toEqual(idsOf(first));
});

test('a thousand events in one millisecond are read in pages like any others', async () => {
  const own = await service.tenant();
  const same = Array.from({ length: 1_000 }, (_, index) => at(service.clock.now, index));
  await recordAll(service, own.key, same);
  const seen: string[] = [];
  let query = '';
  do {
    const answer = await list(`resource=queue&limit=300&order=asc${query}`, own.key);
    seen.push(...idsOf(answer));
    const { nextCursor } = answer.body.pagination;
    query = nextCursor === null ? '' : `&cursor=${nextCursor}`;
  } while (query !== '');
  expect(seen).toEqual(same.map(({ id }) => id));
  await expectLogIntact(service, own.id);
});

test('a cursor outlives the event it stands on', async () => {
  const own = await service.tenant('Starter');
  const { now } = service.clock;
  const month = 30 * 86_400_000;
  await recordAll(service, own.key, [at(now - month + 1_000, 1), at(now - month + 60_000, 1)]);
  const query = 'resource=queue&order=asc&limit=1';
  const { pagination } = (await list(query, own.key)).body;
  service.clock.now += 10_000;
  const next = await list(`${query}&cursor=${pagination.nextCursor}`, own.key);
  service.clock.now -= 10_000;
  expect(next.body.data).toHaveLength(1);
  expect(next.body.pagination.nextCursor).toBeNull();
});
