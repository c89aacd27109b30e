import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { actorOf, bundleOf, eraseNow, offboardNow } from '../testing/erasure-setup.ts';
import { poolEvents, recordAll } from '../testing/event-pool.ts';
import { growLog } from '../testing/grow-log.ts';
import { expectLogIntact } from '../testing/intact.ts';
import { change, day, eventAt, run, runTwice } from '../testing/retention-setup.ts';
import { eventOf, type TestService, testService } from '../testing/service.ts';
import { indexWords, lagMax } from './index-words.ts';
import { decodeLists } from './word-lists.ts';

let service: TestService;
let tenant: { id: string; key: string };
beforeAll(async () => {
  service = await testService();
});
afterAll(() => service.close());
beforeEach(async () => {
  tenant = await service.tenant();
});

const toBlocks = () => service.app.background.run('words');

const named = (name: string, more: object = {}) =>
  eventOf({ resource: { type: 'ivr', id: randomUUID(), name }, ...more });

/** Records events with these names, and as many others that they are in a block. */
async function inBlock(events: readonly object[]) {
  await recordAll(service, tenant.key, [
    ...events,
    ...poolEvents(256 - events.length, service.clock.now, 20),
  ]);
  await toBlocks();
}

/** The names of the resources that have the words. */
async function found(q: string, key = tenant.key): Promise<string[]> {
  const { body } = await service.call({
    url: `/api/audit-logs?${new URLSearchParams({ q })}`,
    key,
  });
  return body.data.map(({ resource }: { resource: { name: string } }) => resource.name);
}

async function counted(q: string): Promise<number> {
  const query = new URLSearchParams({ q, group_by: 'action' });
  const url = `/api/audit-logs/stats?${query}`;
  return (await service.call({ url, key: tenant.key })).body.total;
}

/** The number of entries of each block, by its first. */
async function blocks(): Promise<Record<string, number>> {
  const { rows } = await service.owner.query(
    'SELECT first, entries FROM word_blocks WHERE tenant_id = $1',
    [tenant.id],
  );
  return Object.fromEntries(rows.map(({ first, entries }) => [first, entries]));
}

/** Every word in the tenant's blocks. */
async function wordsInBlocks(): Promise<Set<string>> {
  const { rows } = await service.owner.query<{ words: Buffer }>(
    'SELECT words FROM word_lists WHERE tenant_id = $1',
    [tenant.id],
  );
  return new Set(rows.flatMap(({ words }) => [...decodeLists(words)].map(([word]) => word)));
}

test('an event is found at once, and as well when its words are in a block', async () => {
  await recordAll(service, tenant.key, [named('Begrüßung Nord'), named('Greeting South')]);
  for (const isInBlock of [false, true]) {
    if (isInBlock) await inBlock([]);
    expect(await found('nord BEGRUSS')).toEqual(['Begrüßung Nord']);
    expect(await found('gre sou')).toEqual(['Greeting South']);
    expect(await found('gr')).toEqual([]);
    expect((await found('!nord'))[0]).not.toBe('Begrüßung Nord');
    expect(await blocks()).toEqual(isInBlock ? { 0: 256 } : {});
  }
  await expectLogIntact(service, tenant.id);
});

test("another tenant's words find nothing, also not by the database", async () => {
  await inBlock([named('Zanzibar')]);
  expect(await found('zanzibar')).toEqual(['Zanzibar']);
  expect(await found('zanzibar', (await service.tenant()).key)).toEqual([]);
  const client = await service.db.reader.connect();
  for (const table of ['word_heads', 'word_blocks', 'word_lists']) {
    expect((await client.query(`SELECT FROM ${table}`)).rowCount).toBe(0);
  }
  client.release();
});

test.each([[''], ['…'], [Array(21).fill('a').join(' ')]])('"%s" is no query', async (q) => {
  const url = `/api/audit-logs?${new URLSearchParams({ q })}`;
  const { status, body } = await service.call({ url, key: tenant.key });
  expect([status, body.code, body.errors[0].path]).toEqual([400, 'invalid_parameter', 'q']);
});

test('erased words are found no more, in a block or not; all others are', async () => {
  const ana = randomUUID();
  const secret = (name: string) => named(name, { actor: actorOf(ana, 'quetzal@example.com') });
  await inBlock([secret('Main menu'), named('quetzal')]);
  await recordAll(service, tenant.key, [secret('Side menu')]);
  expect((await found('quetz')).sort()).toEqual(['Main menu', 'Side menu', 'quetzal']);
  await eraseNow(service, { tenantId: tenant.id, actor: ana });
  expect(await found('quetz')).toEqual(['quetzal']);
  expect(await counted('quetzal')).toBe(1);
  expect(await found('main menu')).toEqual([]); // the name belongs to the identity, too
  await inBlock([]);
  expect(await found('quetz')).toEqual(['quetzal']);
  const words = await wordsInBlocks();
  expect([words.has('menu'), words.has('side'), words.has('quetzal')]).toEqual([
    false,
    false,
    true,
  ]);
});

test('removed events take their words with them, and late ones keep theirs', async () => {
  const begun = service.clock.now;
  tenant = await service.tenant('Starter');
  const late = eventAt(begun - 20 * day);
  await recordAll(service, tenant.key, [{ ...late, reason: 'latecomer' }]);
  const events = [named('Aardvark'), ...Array.from({ length: 252 }, () => named('Filler'))];
  await recordAll(service, tenant.key, events);
  service.clock.now = begun + 20 * day;
  await inBlock([named('Younger')]);
  expect(await found('aardvark')).toEqual(['Aardvark']);
  const kept = async (...words: string[]) => {
    const all = await wordsInBlocks();
    return words.filter((word) => all.has(word));
  };
  const all = ['aardvark', 'filler', 'latecomer', 'younger'];
  expect(await kept(...all)).toEqual(all);
  service.clock.now = begun + 32 * day;
  await runTwice(service);
  expect(await found('aardvark')).toEqual([]);
  expect(await found('latecomer')).toEqual([]);
  expect(await found('younger')).toEqual(['Younger']);
  expect(await kept(...all)).toEqual(['younger']);
  service.clock.now = begun;
});

test('events that move to another class are found in it', async () => {
  tenant = await service.tenant('Pro');
  await inBlock([named('Wanderer')]);
  await change(service, tenant, { plan: 'Enterprise' });
  expect(await found('wanderer')).toEqual(['Wanderer']);
  await run(service);
  expect(await found('wanderer')).toEqual(['Wanderer']);
});

test('after an offboarding no words are left', async () => {
  await inBlock([named('Leaver')]);
  await service.app.checkpoints.tick();
  const { rows } = await service.owner.query(
    'SELECT log_id, size::int FROM log_heads WHERE tenant_id = $1',
    [tenant.id],
  );
  const [{ log_id, size }] = rows;
  await offboardNow(service, tenant.id, bundleOf(log_id, size, size));
  expect([await blocks(), await wordsInBlocks()]).toEqual([{}, new Set()]);
});

test('while recording is busy, words wait, up to a number of entries', async () => {
  const indexed = async (isBusy: boolean) => {
    await indexWords(service.db, () => isBusy, new AbortController().signal);
    const head = 'SELECT size::int FROM word_heads WHERE tenant_id = $1';
    return (await service.owner.query(head, [tenant.id])).rows[0]?.size ?? 0;
  };
  const events = [named('Octopus'), ...poolEvents(300, service.clock.now, 20)];
  await recordAll(service, tenant.key, events);
  expect(await indexed(true)).toBe(0);
  await growLog(service, tenant.id, lagMax);
  expect(await indexed(true)).toBe(4_096);
  expect(await found('octopus')).toEqual(['Octopus']);
  expect(await indexed(false)).toBe(lagMax);
  expect(await found('octopus')).toEqual(['Octopus']);
});

test('256 blocks become one, and too many entries without a block are refused, not left out', async () => {
  const events = [named('Octopus'), ...poolEvents(500, service.clock.now, 100), named('Octagon')];
  await recordAll(service, tenant.key, events);
  await growLog(service, tenant.id, 65_600);
  const waiting = await service.call({ url: '/api/audit-logs?q=octopus', key: tenant.key });
  expect([waiting.status, waiting.body.code]).toEqual([503, 'unavailable']);
  await toBlocks();
  expect(await blocks()).toEqual({ 0: 65_536 });
  expect((await found('oct')).sort()).toEqual(['Octagon', 'Octopus']);
  expect(await counted('example')).toBeGreaterThan(100);
});
