import { randomUUID } from 'node:crypto';
import { eventBytesMax, firstUuidAt } from '@indelible/protocol';
import { actorOf, eraseNow, offboardNow } from '@indelible/testing/erasure-setup';
import { poolEvents, recordAll } from '@indelible/testing/event-pool';
import { growLog } from '@indelible/testing/grow-log';
import { expectLogIntact } from '@indelible/testing/intact';
import { turnsOf } from '@indelible/testing/longest-turn';
import { change, day, eventAt, run, runTwice } from '@indelible/testing/retention-setup';
import { eventOf, testService } from '@indelible/testing/service';
import type { PoolClient } from 'pg';
import { beforeEach, expect, test } from 'vitest';
import { readTenant, type TenantTx } from '../postgres/db.ts';
import { findWords } from './find-words.ts';
import { entriesAtOnce, indexWords } from './index-words.ts';
import { wordedEvents } from './store.ts';
import { largeEntries, listsOf } from './word-block.ts';
import { decodeLists, encodeLists, listOf } from './word-lists.ts';

const service = await testService();
let tenant: { id: string; key: string };
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
async function found(q: string, more = '', key = tenant.key): Promise<string[]> {
  const query = `${new URLSearchParams({ q })}${more && `&${more}`}`;
  const { body } = await service.call({ url: `/api/audit-logs?${query}`, key });
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

/** How many entries of the tenant have their words in blocks. */
async function indexedSize(): Promise<number> {
  const sql = 'SELECT size::int FROM word_heads WHERE tenant_id = $1';
  return (await service.owner.query(sql, [tenant.id])).rows[0]?.size ?? 0;
}

/** The ids of the tenant's events. */
async function storedIds(): Promise<string[]> {
  const sql = 'SELECT id::text FROM audit_events WHERE tenant_id = $1';
  const { rows } = await service.owner.query<{ id: string }>(sql, [tenant.id]);
  return rows.map(({ id }) => id);
}

/** What `work` gives, and what each of its statements has read. */
async function reading<T>(work: (tx: TenantTx) => Promise<T>) {
  const read: { name: string; rows: readonly { text?: string | null }[] }[] = [];
  const given = await readTenant(service.db, tenant.id, (tx) => {
    const query: TenantTx['query'] = async (query) => {
      const answer = await tx.query<never>(query);
      read.push({ name: query.name ?? '', rows: answer.rows });
      return answer;
    };
    return work({ ...tx, query });
  });
  const events = read.filter(({ name }) => name.startsWith('rows-of-ids'));
  return { given, read, events: events.map(({ rows }) => rows.length) };
}

/** Every word in the tenant's blocks. */
async function wordsInBlocks(): Promise<Set<string>> {
  const { rows } = await service.owner.query<{ words: Buffer; entries: number }>(
    'SELECT words, entries FROM word_lists JOIN word_blocks USING (tenant_id, first) WHERE tenant_id = $1',
    [tenant.id],
  );
  return new Set(
    rows.flatMap(({ words, entries }) => [...decodeLists(words, entries)].map(([word]) => word)),
  );
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

test('beside words every other filter finds the same, in a block and before', async () => {
  const ben = { id: randomUUID(), email: 'Ben@Example.com', role: 'admin', ip: '203.0.113.9' };
  const onBehalfOf = [{ id: randomUUID(), email: 'eve@example.com' }];
  const zoe = { ...ben, id: randomUUID(), email: 'ZOË@example.com', ip: null };
  const hers = named('Menu Zoë', { actor: zoe });
  const special = named('Menu 1', {
    actor: ben,
    action: 'login',
    onBehalfOf,
    correlationId: ben.id,
  });
  await recordAll(service, tenant.key, [special, hers, named('Menu 2')]);
  const mine = [
    ...[`user=${ben.id}`, 'user=ben@example.com', 'user=ben@example.com&user=nil@example.com'],
    ...['ip=203.0.113.9', 'action=login&action=unheard_of', `correlation_id=${ben.id}`],
    ...[`on_behalf_of=${onBehalfOf[0]?.id}`, 'on_behalf_of=EVE@example.com', 'category=security'],
  ];
  for (const isInBlock of [false, true]) {
    if (isInBlock) await inBlock([]);
    for (const query of mine) expect(await found('menu', query)).toEqual(['Menu 1']);
    expect(await found('menu', 'user=zoë@example.com')).toEqual(['Menu Zoë']);
    expect((await found('menu', 'resource=ivr')).length).toBe(3);
    expect((await found('menu', 'action=!login&ip=!203.0.113.9')).length).toBe(2);
    expect(await found('menu', `user=${randomUUID()}`)).toEqual([]);
  }
});

test("another tenant's words find nothing", async () => {
  await inBlock([named('Zanzibar')]);
  expect(await found('zanzibar')).toEqual(['Zanzibar']);
  expect(await found('zanzibar', '', (await service.tenant()).key)).toEqual([]);
});

const noQueries = ['', '…', '🎧', 'a\0b', Array(21).fill('a').join(' '), 'x'.repeat(1_001)];
test.each(noQueries.map((q) => [q]))('"%s" is no query, nor is it stored', async (q) => {
  const url = `/api/audit-logs?${new URLSearchParams({ q })}`;
  const { status, body } = await service.call({ url, key: tenant.key });
  expect([status, body.code, body.errors[0].path]).toEqual([400, 'invalid_parameter', 'q']);
  const stored = {
    url: '/api/audit-logs/searches',
    body: { filters: { q: ['menu', q] }, note: '' },
  };
  const saved = await service.call({ method: 'POST', ...stored, key: tenant.key });
  expect([saved.status, saved.body.errors[0].path]).toEqual([422, '/filters/q/1']);
});

test('erased words are found no more, in a block or not; all others are', async () => {
  const ana = randomUUID();
  const secret = (name: string) => named(name, { actor: actorOf(ana, 'quetzal@example.com') });
  const long = 'x'.repeat(63);
  await inBlock([secret('Main menu'), named('quetzal'), secret(`${long}𐐨`)]);
  expect((await wordsInBlocks()).has(long)).toBe(true);
  await recordAll(service, tenant.key, [secret('Side menu')]);
  expect((await found('quetz')).sort()).toEqual([
    ...['Main menu', 'Side menu', 'quetzal', `${long}𐐨`],
  ]);
  const marks = async () => [...(await wordsInBlocks())].filter((word) => word.startsWith('='));
  const before = await marks();
  await eraseNow(service, { tenantId: tenant.id, actor: ana });
  expect(await found('quetz')).toEqual(['quetzal']);
  // The mark of the address goes; that of the id stays.
  expect((await marks()).length).toBe(before.length - 1);
  expect(await counted('quetzal')).toBe(1);
  expect(await found('main menu')).toEqual([]); // the name belongs to the identity, too
  await inBlock([]);
  expect(await found('quetz')).toEqual(['quetzal']);
  const words = await wordsInBlocks();
  const left = ['menu', 'side', 'quetzal', long].filter((word) => words.has(word));
  expect(left).toEqual(['quetzal']);
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
  await offboardNow(service, tenant.id);
  expect([await blocks(), await wordsInBlocks()]).toEqual([{}, new Set()]);
});

test('while recording is busy, words wait, up to a number of entries', async () => {
  const indexed = async (isBusy: boolean) => {
    await indexWords(service.db, () => isBusy, new AbortController().signal);
    return indexedSize();
  };
  const events = [named('Octopus'), ...poolEvents(300, service.clock.now, 20)];
  await recordAll(service, tenant.key, events);
  expect(await indexed(true)).toBe(0);
  await growLog(service, tenant.id, entriesAtOnce + 300);
  expect(await indexed(true)).toBe(entriesAtOnce);
  expect(await found('octopus')).toEqual(['Octopus']);
  expect(await indexed(false)).toBe(entriesAtOnce + 256);
  expect(await found('octopus')).toEqual(['Octopus']);
});

test('the words of many events are read at once, of large events a few MiB at once', async () => {
  const large = { diff: { text: { from: null, to: 'x'.repeat(9_000) } } };
  await recordAll(service, tenant.key, poolEvents(200, service.clock.now, 20));
  await recordAll(
    service,
    tenant.key,
    poolEvents(130, service.clock.now, 20).map((event) => Object.assign({}, event, large)),
  );
  const uuids = await storedIds();
  const { given, events } = await reading(async (tx) => {
    const ids: string[] = [];
    for await (const { uuid } of wordedEvents(tx, uuids)) ids.push(uuid);
    return ids;
  });
  expect(given.sort()).toEqual(uuids.sort());
  expect(events).toEqual([uuids.length - 130, ...Array(8).fill(16), 2]);
  expect(16 * eventBytesMax).toBeLessThan(10 * 2 ** 20);
});

/** An event whose diff has a hundred words of its own in each of so many fields. */
const wordy = (nth: number, fields: number) => {
  const text = (field: number) =>
    Array.from({ length: 100 }, (_, word) => `${nth}x${field}x${word}`).join(' ');
  const changes = Array.from({ length: fields }, (_, n) => [`f${n}`, { from: null, to: text(n) }]);
  return eventOf({ diff: Object.fromEntries(changes) });
};

test('while the words of large events are read or put into blocks, requests are answered', async () => {
  const events = Array.from({ length: 60 }, (_, nth) => wordy(nth, 60));
  await recordAll(service, tenant.key, events);
  // Each text has it within a word, so the words of all are made; none begins with it.
  const search = await turnsOf(async () => expect(await found('x99')).toEqual([]));
  expect(search.longest).toBeLessThan(search.total / 3);
  await recordAll(service, tenant.key, poolEvents(200, service.clock.now, 20));
  const indexing = await turnsOf(toBlocks);
  expect(indexing.longest).toBeLessThan(indexing.total / 3);
});

const everything = {
  from: firstUuidAt(0),
  before: `f${firstUuidAt(0).slice(1)}`,
  descending: true,
};

/** How many events a search for a word reads. */
async function readFor(word: string): Promise<number> {
  const filter = { q: { any: [word], none: [] } };
  const { events } = await reading((tx) => findWords(tx, filter, everything).next());
  return events.reduce((sum, count) => sum + count, 0);
}

test('large events that a search has read are in a block for the next one', async () => {
  // More than 2^20 characters are long to read, whatever words they have.
  const diff = { text: { from: null, to: '-'.repeat(30_000) } };
  const large = (count: number) => Array.from({ length: count }, () => eventOf({ diff }));
  await recordAll(service, tenant.key, [named('Octopus'), ...large(59)]);
  await toBlocks();
  expect(await blocks()).toEqual({});
  expect(await readFor('octo')).toBeGreaterThan(60);
  expect(await found('octo')).toEqual(['Octopus']);
  await toBlocks();
  expect(await blocks()).toEqual({ 0: 62 });
  expect(await readFor('octo')).toBe(0);
  expect(await found('octo')).toEqual(['Octopus']);
  const ana = randomUUID();
  const hers = named('Octagon', { actor: actorOf(ana, 'quetzal@example.com') });
  await recordAll(service, tenant.key, [named('Octet'), ...large(39)]);
  expect(await found('octet')).toEqual(['Octet']);
  await recordAll(service, tenant.key, [hers]);
  await toBlocks();
  expect(await blocks()).toEqual({ 0: 62, 62: 41 });
  await recordAll(service, tenant.key, [hers]);
  expect((await found('oct', 'sort=sequence')).length).toBe(4);
  await eraseNow(service, { tenantId: tenant.id, actor: ana });
  expect((await found('oct')).sort()).toEqual(['Octet', 'Octopus']);
  expect(await counted('oct')).toBe(2);
  await inBlock([]);
  expect(await blocks()).toEqual({ 0: 256 });
  expect((await found('oct')).sort()).toEqual(['Octet', 'Octopus']);
  expect((await found('oct', 'sort=sequence')).sort()).toEqual(['Octet', 'Octopus']);
  expect(await wordsInBlocks()).not.toContain('octagon');
  await expectLogIntact(service, tenant.id);
});

test('events with very many words get blocks of fewer entries, which are found and stay small', async () => {
  const words = (nth: number) =>
    Array.from({ length: 26_000 }, (_, n) => (nth * 26_000 + n + 1_679_616).toString(36));
  const many = (nth: number) => {
    const all = words(nth);
    const values = Array.from({ length: 200 }, (_, n) => all.slice(n * 130, n * 130 + 130));
    const changes = values.map((to, n) => [`f${n}`, { from: null, to: to.join(' ') }]);
    return eventOf({ diff: Object.fromEntries(changes) });
  };
  const count = 22;
  const large = Array.from({ length: count }, (_, nth) => many(nth));
  await recordAll(service, tenant.key, large);
  await inBlock([named('Octopus')]);
  const made = Object.values(await blocks()) as number[];
  expect(made.reduce((sum, entries) => sum + entries, 0)).toBe(256);
  expect(Math.max(...made)).toBeLessThan(256);
  for (const nth of [0, 11, count - 1]) {
    for (const word of [words(nth)[0], words(nth).at(-1)]) {
      expect((await found(word ?? '')).length).toBe(1);
    }
  }
  expect(await found('octopus')).toEqual(['Octopus']);
  await expectLogIntact(service, tenant.id);
});

test('blocks that once stayed apart are not united with larger ones when they have become small', async () => {
  await growLog(service, tenant.id, largeEntries);
  for (const [first, entries] of [
    [0, 256],
    [4_096, 4_096],
  ] as const) {
    const ids = [tenant.id, first, entries, firstUuidAt(service.clock.now)];
    await service.owner.query(
      `INSERT INTO word_blocks VALUES ($1, $2, $3, uuid_send($4), $4, $4)`,
      ids,
    );
    await service.owner.query('INSERT INTO word_lists VALUES ($1, $2, $3, $4)', [
      ...[tenant.id, listOf('octopus', listsOf(entries)), first],
      encodeLists(new Map([['octopus', [0]]]), entries),
    ]);
  }
  const size = largeEntries - 256;
  await service.owner.query('INSERT INTO word_heads VALUES ($1, $2)', [tenant.id, size]);
  await toBlocks();
  expect(await indexedSize()).toBe(largeEntries);
  expect(await blocks()).toEqual({ 0: 256, 4096: 4_096 });
});

test('a search that would read too much waits for a block', async () => {
  const diff = Object.fromEntries(
    Array.from({ length: 280 }, (_, n) => [`f${n}`, { from: null, to: '-'.repeat(2_000) }]),
  );
  for (let n = 0; n < 3; n++)
    await recordAll(service, tenant.key, Array(10).fill(eventOf({ action: 'update', diff })));
  for (const sort of ['timestamp', 'sequence']) {
    const url = `/api/audit-logs?q=octopus&sort=${sort}`;
    const { status, body } = await service.call({ url, key: tenant.key });
    expect([status, body.code]).toEqual([503, 'unavailable']);
  }
  await toBlocks();
  expect(await found('octopus')).toEqual([]);
});

test('a block is made, however long the words of its events take', async () => {
  const own = await testService();
  // PostgreSQL ends a session that rests longer within a transaction.
  const impatient = (client: PoolClient) =>
    void client.query('SET idle_in_transaction_session_timeout = 50');
  for (const pool of [own.db.background, own.db.reader]) pool.on('acquire', impatient);
  try {
    const { id, key } = await own.tenant();
    const events = Array.from({ length: 60 }, (_, nth) => wordy(nth, 60));
    await recordAll(own, key, [...events, ...poolEvents(200, own.clock.now, 20)]);
    await own.app.background.run('words');
    const sql = 'SELECT entries FROM word_blocks WHERE tenant_id = $1';
    expect((await own.owner.query(sql, [id])).rows).toEqual([{ entries: 256 }]);
  } finally {
    await own.close();
  }
});

test('once a caller has gone, no further event of its search is looked at', async () => {
  await recordAll(service, tenant.key, [named('Octopus')]);
  const uuids = await storedIds();
  const { signal } = new AbortController();
  const next = (tx: TenantTx) => {
    expect(tx.gone).toBe(signal);
    const gone = AbortSignal.abort(new Error('the caller has hung up'));
    return wordedEvents({ ...tx, gone }, uuids).next();
  };
  await expect(readTenant(service.db, tenant.id, next, signal)).rejects.toThrow('hung up');
});

/** Makes four large blocks of events that all have the word. */
async function manyWith(word: string): Promise<void> {
  const offsets = Array.from({ length: largeEntries }, (_, offset) => offset);
  await service.owner.query(
    `INSERT INTO word_blocks SELECT $1, first, ${largeEntries}, ids, first_id_at($3), $2
     FROM generate_series(0, 3) block, LATERAL (SELECT block * ${largeEntries} AS first) f, LATERAL
       (SELECT string_agg(uuid_send(first_id_at($3)), '') AS ids
        FROM generate_series(1, ${largeEntries})) i`,
    [tenant.id, firstUuidAt(service.clock.now), new Date(service.clock.now - 60_000)],
  );
  await service.owner.query(
    `INSERT INTO word_lists SELECT tenant_id, $2, first, $3 FROM word_blocks WHERE tenant_id = $1`,
    [
      ...[tenant.id, listOf(word, listsOf(largeEntries))],
      encodeLists(new Map([[word, offsets]]), largeEntries),
    ],
  );
  await service.owner.query('INSERT INTO word_heads VALUES ($1, $2)', [tenant.id, 1e6]);
}

test('a question with too many matches is refused with what to do', async () => {
  await manyWith('octopus');
  const ask = (path: string) => service.call({ url: `${path}q=octopus`, key: tenant.key });
  for (const path of ['/api/audit-logs/stats?group_by=day&', '/api/audit-logs?sort=user&']) {
    const { status, body } = await ask(path);
    expect([status, body.code, body.errors[0].path]).toEqual([400, 'invalid_parameter', 'q']);
    expect(body.detail).toBe(
      'more than 200,000 events have these words; narrow the time range, or add words or filters',
    );
  }
  expect((await ask('/api/audit-logs?page=9&')).status).toBe(200);
});

test('a search reads 16 MiB of blocks with many words at once', async () => {
  const words = Array.from({ length: 200_000 }, (_, n) => `octo${(n + 1e9).toString(36)}`);
  const list = encodeLists(new Map(words.map((word) => [word, [0]])), 1);
  await service.owner.query(
    `INSERT INTO word_blocks SELECT $1, first, 1, uuid_send($2), $2, $2
     FROM generate_series(0, 39) first`,
    [tenant.id, firstUuidAt(service.clock.now)],
  );
  await service.owner.query(
    'INSERT INTO word_lists SELECT tenant_id, $2, first, $3 FROM word_blocks WHERE tenant_id = $1',
    [tenant.id, listOf('octo', listsOf(1)), list],
  );
  await service.owner.query('INSERT INTO word_heads VALUES ($1, 40)', [tenant.id]);
  const filter = { q: { any: ['octopus'], none: [] } };
  const { given, read } = await reading((tx) => findWords(tx, filter, everything).next());
  expect(given).toEqual({ done: true, value: undefined });
  const sizes = read.map(({ rows }) =>
    rows.reduce((sum, { text }) => sum + (text?.length ?? 0), 0),
  );
  const base64 = (bytes: number) => (bytes * 4) / 3;
  expect(sizes.reduce((sum, each) => sum + each)).toBeGreaterThan(base64(40 * list.length));
  expect(Math.max(...sizes)).toBeLessThan(base64(16 * 2 ** 20) + 1e6);
});

test('operators and marks in a query only separate words', async () => {
  await inBlock([named('Menu nord east 1 or')]);
  const queries = [
    ...["' OR 1=1 --", 'menu & !nord | (east)', 'menu:* <-> nord', '%menu_', '\\menu', '*menu*'],
    ...['🙂 menu', 'me\u0301nu', '\u202emenu', '=menu', '\u200bmenu'],
  ];
  for (const q of queries) expect([q, await found(q)]).toEqual([q, ['Menu nord east 1 or']]);
});

test('words of any script are found whole and by their beginning, in a block or not', async () => {
  const names: Record<string, string[]> = {
    'مكتب الريـاض': ['الرِّيَاض', 'مكت الري'],
    'שֵׁרוּת לקוחות': ['שרות', 'לקו'],
    会議室の予約: ['会議', '予'],
    ห้องประชุมใหญ่: ['ห้องประชุม', 'หอง'],
    '한국어 대기열': ['대기', '한국'],
    'Ἀθῆναι – Cafe\u0301 ﬁve': ['αθηναι five', 'CAFÉ'],
    're\u00admo\u200dved': ['removed'],
    '🎧 𐐨𐐩𐐪 Kopfhörer': ['🎧 KOPFHORER', '𐐀𐐁'],
    ['x'.repeat(63) + '𐐨'.repeat(9)]: [`${'X'.repeat(63)}𐐨𐐨`, 'x'.repeat(40)],
  };
  await recordAll(
    service,
    tenant.key,
    Object.keys(names).map((name) => named(name)),
  );
  for (const isInBlock of [false, true]) {
    if (isInBlock) await inBlock([]);
    for (const [name, queries] of Object.entries(names)) {
      for (const q of queries) expect([q, await found(q)]).toEqual([q, [name]]);
    }
  }
});

test('blocks become one, and too many entries without a block are refused, not left out', async () => {
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

test('blocks find the events of a target and of a trace, also by frequent ids, counted and by user', async () => {
  const target = { type: 'user', id: randomUUID(), externalId: 'user:7' };
  const traceId = randomUUID().replaceAll('-', '');
  const close = { type: 'user', id: target.id.split('-').reverse().join('-') };
  await inBlock([
    named('first', { targets: [target], traceId }),
    named('second', { targets: [{ type: 'did', externalId: 'other' }, target] }),
    named('same words', { reason: `user 7 ${close.id}` }),
  ]);
  await recordAll(service, tenant.key, [named('newest', { targets: [target] })]);
  for (const value of [target.id, target.externalId]) {
    for (const more of ['', '&sort=user&order=desc']) {
      const url = `/api/audit-logs?target=${value}&include=total${more}`;
      const { body } = await service.call({ url, key: tenant.key });
      const names = body.data.map((event: { resource: { name: string } }) => event.resource.name);
      expect([names.sort(), body.pagination.total.value]).toEqual([
        ['first', 'newest', 'second'],
        3,
      ]);
    }
  }
  const { body } = await service.call({
    url: `/api/audit-logs?trace_id=${traceId}&target=${target.id}`,
    key: tenant.key,
  });
  expect(body.data).toHaveLength(1);
});

test('dates, versions, amounts, telephone numbers and letters with strokes are found, read or indexed', async () => {
  const expected = {
    lodz: 'Łódź',
    'da nang': 'Đà Nẵng',
    smorrebrod: 'smørrebrød',
    'vom 2026': 'Rechnung vom 20.11.2026',
    '11.2026': 'Rechnung vom 20.11.2026',
    'v1.2': 'release v1.2.3',
    934: '1.934,50',
    900123456: '+34 900 123 456',
  };
  const events = [...new Set(Object.values(expected))].map((name) => named(name));
  const via = { channel: 'mcp', tool: 'zap_route' };
  events.push(named('told', { action: 'menu.rewired', via, traceId: 'ab12'.repeat(8) }));
  const all = { ...expected, rewired: 'told', zap: 'told', ['ab12'.repeat(8)]: 'told' };
  const expectFound = async () => {
    for (const [query, name] of Object.entries(all))
      expect([query, await found(query)]).toEqual([query, [name]]);
  };
  await recordAll(service, tenant.key, events);
  await expectFound();
  await recordAll(service, tenant.key, poolEvents(256 - events.length, service.clock.now, 20));
  await toBlocks();
  await expectFound();
});
