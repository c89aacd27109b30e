import { randomUUID } from 'node:crypto';
import { eventIdFromUuid } from '@indelible/protocol';
import { expect, test } from 'vitest';
import type { ColdReader } from '../postgres/db.ts';
import { moveToArchive } from '../testing/cold.ts';
import { recordAll } from '../testing/event-pool.ts';
import { at, day, eventAt, tenantOf } from '../testing/retention-setup.ts';
import { eventOf, testService } from '../testing/service.ts';
import { coldPages } from './cold.store.ts';
import type { Visibility } from './filter-sql.store.ts';
import { listBySequence } from './sequence-list.store.ts';
import { readShown } from './store.ts';

const mib = 2 ** 20;
const service = await testService();
const tenant = await tenantOf(service, 'Enterprise', 300);

const { now } = service.clock;
const oldMs = now - 290 * day;
const text = 'x'.repeat(250 * 1024);
const resource = { type: 'queue', id: randomUUID() };
/** Half of them with the largest states. */
const events = Array.from({ length: 60 }, (_, n) => ({
  ...{ ...eventAt(oldMs + n), resource },
  ...(n % 2 ? {} : { diff: {}, before: { text }, after: { text } }),
}));
for (let first = 0; first < events.length; first += 30) {
  const some = events.slice(first, first + 30);
  await at(service, oldMs + 60, () => recordAll(service, tenant.key, some));
}
await recordAll(
  service,
  tenant.key,
  Array.from({ length: 300 }, () => eventOf()),
);
await service.app.background.run('words');
await moveToArchive(service, tenant);

/** The sizes of what DuckDB answers to this work. */
async function answersTo(work: (visible: Visibility) => Promise<unknown>): Promise<number[]> {
  const sizes: number[] = [];
  await readShown(service.db, tenant.id, now, (visible) => {
    const { tx } = visible;
    const cold: ColdReader = {
      async read(...given) {
        const rows = (await tx.cold?.read(...given)) ?? [];
        sizes.push(rows.flat().reduce((sum: number, value) => sum + String(value).length, 0));
        return rows;
      },
    };
    return work({ ...visible, tx: { ...tx, cold, query: (query) => tx.query(query) } });
  });
  return sizes;
}

const wanted = { action: { any: ['publish'], none: [] } };
const ids = events.map(({ id }) => id);

test.each([
  ['asc', true, 2],
  ['desc', true, 2],
  ['asc', false, 1],
] as const)(
  'a page of the log (%s, with states %s) takes a few MiB of the archive at once',
  async (order, state, count) => {
    const include = { total: false, state };
    const filter = { action: { any: ['publish'], none: [] } };
    const query = { filter, limit: 500, sort: 'sequence', order, include } as const;
    const found: string[] = [];
    const read: number[][] = [];
    for (let from: number | null = null; read.length === 0 || from !== null; ) {
      const answers = await answersTo(async (visible) => {
        const page = await listBySequence(query, visible, from);
        found.push(...page.rows.map(({ uuid }) => eventIdFromUuid(uuid)));
        from = page.nextSequence;
      });
      read.push(answers);
    }
    expect(found).toEqual(order === 'asc' ? ids : ids.toReversed());
    expect(read).toHaveLength(count);
    expect(Math.max(...read.flat())).toBeLessThan(9 * mib);
  },
);

test('in the order of the log words are found in archived events without comparing each', async () => {
  const get = (q: string) =>
    service.call({ url: `/api/audit-logs?sort=sequence&limit=500&${q}`, key: tenant.key });
  const all = await get('action=publish&q=example');
  expect(all.body.data.map(({ id }: { id: string }) => id)).toEqual(ids);
  const none = await answersTo(async (visible) => {
    const filter = { q: { any: ['octopus'], none: [] } };
    const include = { total: false, state: false };
    const query = { filter, limit: 500, sort: 'sequence', order: 'asc', include } as const;
    const page = await listBySequence(query, visible, null);
    expect(page.rows).toEqual([]);
  });
  expect(none).toEqual([]);
});

test('a list by time, an erasure and the worker of words read the largest events too', async () => {
  const url = `/api/audit-logs?resource_id=${resource.id}&include=state&limit=500`;
  const { status, body } = await service.call({ url, key: tenant.key });
  expect([status, body.detail, body.pagination?.hasMore]).toEqual([200, undefined, true]);
  const found: string[] = [];
  const answers = await answersTo(async (visible) => {
    for await (const rows of coldPages(visible, wanted))
      found.push(...rows.map(({ uuid }) => eventIdFromUuid(uuid)));
  });
  expect(found).toEqual(ids);
  expect(Math.max(...answers)).toBeLessThan(9 * mib);
  const heads = () => service.owner.query('SELECT size FROM word_heads');
  const before = await heads();
  await service.owner.query('TRUNCATE word_heads, word_blocks, word_lists');
  await service.app.background.run('words');
  expect((await heads()).rows).toEqual(before.rows);
});
