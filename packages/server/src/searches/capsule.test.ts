import { uuidFromTypeId } from '@indelible/protocol';
import { turnsOf } from '@indelible/testing/longest-turn';
import { eventOf, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { sha } from '../../../protocol/src/testing/recorded-log.ts';
import { readTenant } from '../postgres/db.ts';
import { type CapsuleDeps, makeCapsule } from './capsule.ts';
import { searchIdPrefix } from './erased-since.ts';
import { getSearch, type SavedSearch } from './store.ts';

const service = await testService();
const { id: tenantId, key } = await service.tenant();

/** A kept search over three events, and those of the tenant itself. */
async function keptSearch(
  last = eventOf(),
  filters = {},
): Promise<{ id: string; search: SavedSearch }> {
  const body = { events: [eventOf(), eventOf(), last] };
  const recorded = await service.call({ method: 'POST', url: '/api/audit-logs/batch', key, body });
  expect(recorded.status, recorded.text).toBe(200);
  service.clock.now += 1_000;
  const url = '/api/audit-logs/searches';
  const { id } = (await service.call({ method: 'POST', url, key, body: { filters } })).body;
  const uuid = uuidFromTypeId(searchIdPrefix, id) ?? '';
  const search = await readTenant(service.db, tenantId, (tx) => getSearch(tx, uuid));
  if (search === null) throw new Error('the search was not kept');
  return { id, search };
}

const { id, search } = await keptSearch();

/** None of these limits lets a capsule be recorded. */
const deps: CapsuleDeps = {
  db: service.db,
  sha,
  now: () => service.clock.now,
  publicUrl: () => 'http://localhost',
  newUuid: () => id,
  capsulePage: async () => '',
  recordQueued: () => Promise.reject(new Error('recorded')),
  recordOwn: () => Promise.reject(new Error('recorded')),
  recordAccess: () => Promise.reject(new Error('recorded')),
  publishCheckpoint: async () => {},
};
const actor = { id: tenantId, email: null, role: 'admin', ip: null, userAgent: null };
const access = { tenantId, actor, reason: null };
const plenty = { events: 10, entries: 10, bytes: 100_000, readBytes: 100_000 };

test.each([
  [{ events: 2 }, 'more than 2 events'],
  [{ entries: 2 }, 'more than 2 log entries since it began'],
  [{ bytes: 1_000 }, 'more than 1,000 bytes of events'],
  [{ readBytes: 1_000 }, 'more than 1,000 bytes of events, withheld ones included'],
])('a search with more than %j is refused as a capsule', async (less, sentence) => {
  const make = (max: typeof plenty) => makeCapsule(deps, access, search, max);
  await expect(make({ ...plenty, ...less })).rejects.toMatchObject({
    code: 'validation_failed',
    message: expect.stringContaining(sentence),
    errors: [{ path: '/id', code: 'too_many' }],
  });
  await expect(make(plenty)).rejects.toThrow('recorded');
});

test('bytes of events are counted as the file spells them: six for a letter beyond ASCII', async () => {
  const { search } = await keptSearch(
    eventOf({ diff: { n: { from: null, to: '監'.repeat(5_000) } } }),
  );
  const make = (bytes: number) => makeCapsule(deps, access, search, { ...plenty, bytes });
  await expect(make(30_000)).rejects.toMatchObject({ code: 'validation_failed' });
  await expect(make(60_000)).rejects.toThrow('recorded');
});

test('while a capsule looks for words in large events, requests are answered', async () => {
  const changes = Array.from({ length: 60 }, (_, n) => [
    `f${n}`,
    { from: null, to: 'ﷺ'.repeat(400) },
  ]);
  const large = () => eventOf({ diff: Object.fromEntries(changes) });
  const body = { events: Array.from({ length: 20 }, large) };
  await service.call({ method: 'POST', url: '/api/audit-logs/batch', key, body });
  const { id } = await keptSearch(large(), { q: 'octopus' });
  const url = `/api/audit-logs/searches/${id}/capsule`;
  const { total, longest } = await turnsOf(async () => {
    expect((await service.call({ method: 'POST', url, key })).status).toBe(200);
  });
  expect(longest).toBeLessThan(total / 3);
});

test('no capsule is recorded for a caller who hangs up while it is made', async () => {
  const gone = new AbortController();
  const hangingUp = {
    ...deps,
    now: () => {
      gone.abort();
      return deps.now();
    },
  };
  const making = makeCapsule(hangingUp, access, search, { ...plenty, gone: gone.signal });
  await expect(making).rejects.not.toThrow('recorded');
});

test('a search that was kept before its log began anew has no capsule', async () => {
  await service.owner.query('UPDATE searches SET log_id = $1', [crypto.randomUUID()]);
  const url = `/api/audit-logs/searches/${id}/capsule`;
  const { status, body } = await service.call({ method: 'POST', url, key });
  expect([status, body.code]).toEqual([409, 'conflict']);
  expect(body.detail).toContain('save the search again');
});
