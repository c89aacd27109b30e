import { createHash } from 'node:crypto';
import { filterToJson, parseFilterBody } from '@indelible/protocol';
import { costlyRuns } from '@indelible/testing/arbitraries';
import {
  type Facets,
  naiveMatches,
  naiveOrder,
  poolValues,
  storedFacts,
  tenantWithPool,
} from '@indelible/testing/event-pool';
import { expectLogIntact } from '@indelible/testing/intact';
import { testService } from '@indelible/testing/service';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runSearch, sameAnswer } from './run-search.ts';
import { freeze, frozenFilter } from './store.ts';

const service = await testService();
const tenantId = (await tenantWithPool(service, 300)).id;
const stored = await storedFacts(service, tenantId);

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** The filter as the service keeps it, with the names of a body. */
function frozen({ resource_id, cross_tenant, ...facets }: Facets) {
  const body = {
    ...facets,
    ...(resource_id && { resourceId: resource_id }),
    ...(cross_tenant && { crossTenant: cross_tenant }),
  };
  const parsed = parseFilterBody(body);
  if (!('filter' in parsed)) throw new Error(JSON.stringify(parsed.problems));
  return freeze(parsed.filter, 0, service.clock.now);
}

const run = (facets: Facets, size: number, more: Partial<Parameters<typeof runSearch>[2]> = {}) =>
  runSearch(service.db, service.clock.now, {
    tenantId,
    filter: frozen(facets),
    size,
    earlierSize: size,
    max: 1_000,
    ...more,
  });

const facet = (values: readonly string[]) =>
  fc
    .uniqueArray(fc.tuple(fc.constantFrom(...values), fc.boolean()), {
      minLength: 1,
      maxLength: 3,
      selector: ([value]) => value.toLowerCase(),
    })
    .map((picked) => picked.map(([value, not]) => (not ? `!${value}` : value)));

const facets: fc.Arbitrary<Facets> = fc
  .record(
    {
      user: facet(poolValues.user),
      action: facet(poolValues.action),
      resource: facet(poolValues.resource),
      resource_id: facet(poolValues.resource_id),
      cross_tenant: facet(poolValues.cross_tenant),
      category: facet(poolValues.category),
      ip: facet(poolValues.ip),
      q: facet(poolValues.q),
    },
    { requiredKeys: [] },
  )
  .filter((all) => Object.keys(all).length <= 3);

test('count and digest are those of the ids in list order, for any filter, log size and page', async () => {
  await fc.assert(
    fc.asyncProperty(
      facets,
      fc.nat(stored.length + 5),
      fc.nat(stored.length + 5),
      fc.integer({ min: 1, max: 400 }),
      async (asked, size, earlierSize, perPage) => {
        const question = { ...asked, to: service.clock.now };
        const found = naiveOrder(naiveMatches(stored, question), 'timestamp', 'desc');
        const expected = (bound: number) => {
          const ids = found.filter(({ sequence }) => sequence < bound).map(({ id }) => id);
          return { matched: ids.length, digest: sha256(ids.join('\n')) };
        };
        const { answer, earlier } = await run(asked, size, { earlierSize, perPage });
        expect({ ...answer, digest: hex(answer.digest) }).toEqual(expected(size));
        const both = Math.min(size, earlierSize);
        expect({ ...earlier, digest: hex(earlier.digest) }).toEqual(expected(both));
      },
    ),
    costlyRuns,
  );
  await expectLogIntact(service, tenantId);
});

test('the digest of no match is that of nothing, of one match that of its id', async () => {
  const none = await run({ action: ['unheard_of'] }, 1_000);
  expect([none.answer.matched, hex(none.answer.digest)]).toEqual([0, sha256('')]);
  const past = stored.filter(({ timeMs }) => timeMs < service.clock.now);
  const [event] = naiveOrder(past, 'sequence', 'asc');
  const one = await run({}, (event?.sequence ?? 0) + 1);
  expect([one.answer.matched, hex(one.answer.digest)]).toEqual([1, sha256(event?.id ?? '')]);
});

test('more matches than are taken are refused in a sentence', async () => {
  const all = (await run({}, 1_000)).answer.matched;
  await expect(run({}, 1_000, { max: all })).resolves.toBeDefined();
  await expect(run({}, 1_000, { max: all - 1, perPage: 50 })).rejects.toMatchObject({
    code: 'validation_failed',
    message: `more than ${all - 1} events match; narrow the range or the filters`,
  });
});

test('a filter that is kept is read back as it was, and stays within what is shown and now', () => {
  fc.assert(
    fc.property(facets, (asked) => {
      const filter = frozen(asked);
      expect(frozenFilter(JSON.stringify(filterToJson(filter)))).toEqual(filter);
    }),
  );
  expect(freeze({}, 5, 10)).toEqual({ from: 5, to: 10 });
  expect(freeze({ from: 1, to: 99 }, 5, 10)).toEqual({ from: 5, to: 10 });
  expect(freeze({ from: 6, to: 9 }, 5, 10)).toEqual({ from: 6, to: 9 });
});

test('answers are the same only with the same count and the same ids', () => {
  const digest = Buffer.alloc(32, 1);
  expect(sameAnswer({ matched: 1, digest }, { matched: 1, digest: Buffer.alloc(32, 1) })).toBe(
    true,
  );
  expect(sameAnswer({ matched: 1, digest }, { matched: 2, digest })).toBe(false);
  expect(sameAnswer({ matched: 1, digest }, { matched: 1, digest: Buffer.alloc(32) })).toBe(false);
});
