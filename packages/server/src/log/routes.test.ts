import { hash } from 'node:crypto';
import { hashBytes, verifyConsistency } from '@indelible/protocol';
import { costlyRuns } from '@indelible/testing/arbitraries';
import { checkpointOf } from '@indelible/testing/checkpoints';
import { growLog } from '@indelible/testing/grow-log';
import { expectTreeIntact, naiveRoot, rootStored, storedEntries } from '@indelible/testing/intact';
import { leafHashOf } from '@indelible/testing/one-history';
import { eventOf, testService } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const service = await testService({ AUTH_JWT_SECRET: jwtSecret });
const { call, owner, app } = service;

const sha = (data: Uint8Array): Buffer => hash('sha256', data, 'buffer');

let tenants = 0;
/** A tenant whose log holds one entry, that of its making: its reader signs in without an event. */
async function newTenant(): Promise<{ id: string; key: string }> {
  const id = `0199c0de-4b1e-7a55-8d37-${String(tenants++).padStart(12, '0')}`;
  await call({ method: 'PUT', url: `/api/tenants/${id}`, body: { name: 'T', plan: 'Enterprise' } });
  const key = await token({ email: 'ana@example.com', role: 'admin', tenantId: id });
  return { id, key };
}

async function logIdOf(tenantId: string): Promise<string> {
  const { rows } = await owner.query<{ id: string }>(
    `SELECT replace(log_id::text, '-', '') AS id FROM log_heads WHERE tenant_id = $1`,
    [tenantId],
  );
  return rows[0]?.id ?? '';
}

/**
 * Level by level what C2SP tlog-tiles puts into tiles: leaf hashes, then roots of 256 of them each.
 */
function tileLevels(entries: readonly Buffer[]): Buffer[][] {
  const levels = [entries.map(leafHashOf)];
  for (let below = levels[0] ?? []; below.length >= 256; ) {
    const count = Math.floor(below.length / 256);
    const row = below;
    below = Array.from({ length: count }, (_, n) => naiveRoot(row.slice(n * 256, (n + 1) * 256)));
    levels.push(below);
  }
  return levels;
}

async function get(path: string, key: string) {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await app.http.inject({ url: path, headers });
  return { status: answer.statusCode, bytes: answer.rawPayload, headers: answer.headers };
}

const group = (index: number) => String(index).padStart(3, '0'); // indexes below 1,000 only

const grown = await newTenant();
const prefix = `/l/${await logIdOf(grown.id)}`;
/** The whole log of 70,000 entries, once the tests of sizes have made it. */
let allLeaves: Buffer[] = [];

test.each([1, 255, 256, 257, 65_536, 70_000])(
  'a log of %i entries is served as exactly the tiles it has',
  async (size) => {
    await growLog(service, grown.id, size);
    const entries = await storedEntries(service, grown.id);
    expect(entries).toHaveLength(size);
    const levels = tileLevels(entries);
    allLeaves = levels[0] ?? [];
    const tile = (path: string) => get(`${prefix}/tile/${path}`, grown.key);
    for (const [level, hashes] of levels.entries()) {
      // First, last full, and the partial tile; of the partial one every width or some.
      const full = Math.floor(hashes.length / 256);
      for (const index of new Set([0, full - 1].filter((n) => n >= 0 && n < full))) {
        const { status, bytes, headers } = await tile(`${level}/${group(index)}`);
        expect(status).toBe(200);
        expect(bytes).toEqual(Buffer.concat(hashes.slice(index * 256, (index + 1) * 256)));
        expect(headers['content-type']).toBe('application/octet-stream');
        expect(headers['cache-control']).toBe('private, max-age=31536000, immutable');
      }
      const rest = hashes.length - full * 256;
      for (const width of new Set([1, Math.ceil(rest / 2), rest - 1, rest])) {
        if (width < 1 || width > rest) continue;
        const { status, bytes } = await tile(`${level}/${group(full)}.p/${width}`);
        expect(status, `${level}/${full}.p/${width}`).toBe(200);
        expect(bytes).toEqual(Buffer.concat(hashes.slice(full * 256, full * 256 + width)));
      }
      for (const beyond of [
        ...(rest < 255 ? [`${level}/${group(full)}.p/${rest + 1}`] : []),
        `${level}/${group(full)}`,
        `${level}/${group(full + 1)}.p/1`,
        `${level}/x001/000`,
      ]) {
        expect((await tile(beyond)).status, beyond).toBe(404);
      }
    }
    expect((await tile(`${levels.length}/000.p/1`)).status).toBe(404);
    await expectEntries(entries);
    if (size !== 65_536) await expectTreeIntact(service, grown.id);
  },
);

/** Entry bundles: each entry behind its length in two bytes. */
async function expectEntries(entries: readonly Buffer[]): Promise<void> {
  const bundle = (own: readonly Buffer[]) =>
    Buffer.concat(own.flatMap((entry) => [Buffer.of(0, 60), entry]));
  const full = Math.floor(entries.length / 256);
  const rest = entries.length - full * 256;
  const at = (path: string) => get(`${prefix}/tile/entries/${path}`, grown.key);
  for (const index of new Set([0, full - 1].filter((n) => n >= 0 && n < full))) {
    const { bytes } = await at(group(index));
    expect(bytes).toEqual(bundle(entries.slice(index * 256, (index + 1) * 256)));
  }
  for (const width of new Set([1, rest].filter((n) => n > 0 && n <= rest))) {
    const { bytes, headers } = await at(`${group(full)}.p/${width}`);
    expect(bytes).toEqual(bundle(entries.slice(full * 256, full * 256 + width)));
    expect(headers['cache-control']).toContain('immutable');
  }
  expect((await at(group(full))).status).toBe(404);
  if (rest < 255) expect((await at(`${group(full)}.p/${rest + 1}`)).status).toBe(404);
}

test('a client that encodes the slashes of a path gets the same tile', async () => {
  const tile = (path: string) => get(`${prefix}/tile/${path}`, grown.key);
  const path = `entries/${group(0)}.p/1`;
  expect((await tile(path)).status).toBe(200);
  expect((await tile(encodeURIComponent(path))).bytes).toEqual((await tile(path)).bytes);
});

test('a tile has one name: any other spelling does not exist', async () => {
  for (const path of [
    ...['0/0', '0/0000', '00/000', '0/x000/000', '0/000.p/0', '0/000.p/256', '0/000.p/01'],
    ...['0/000.p', '0/000/', '-1/000', '64/000', 'entry/000', 'data/000', ''],
    ...['0/x999/x999/x999/x999/x999/999', '0/%30%30%30x', '../checkpoint'],
  ]) {
    const { status } = await get(`${prefix}/tile/${path}`, grown.key);
    expect(status, path).toBe(path === '../checkpoint' ? 200 : 404);
  }
});

test('a checkpoint is the same note at both addresses, and is the root of what is stored', async () => {
  await app.checkpoints.tick();
  const { note, origin, size, root } = await checkpointOf(app, grown.key);
  const { status, bytes, headers } = await get(`${prefix}/checkpoint`, grown.key);
  expect({ status, text: String(bytes) }).toEqual({ status: 200, text: note });
  expect(headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(headers['cache-control']).toBe('no-store');
  expect({ origin, size }).toEqual({ origin: `localhost${prefix}`, size: 70_000 });
  expect(root).toEqual(rootsOver(allLeaves)(70_000));
});

test('a new log is signed when a reader asks for its checkpoint', async () => {
  const { id, key } = await newTenant();
  const { size, root } = await checkpointOf(app, key);
  expect(size).toBe(1);
  expect(root).toEqual(await rootStored(service, id));
});

test('with no-cache the checkpoint covers everything recorded before', async () => {
  const { id: tenantId, key } = await newTenant();
  expect((await checkpointOf(app, key)).size).toBe(1);
  const body = eventOf({ tenantId });
  const recorded = await call({ method: 'POST', url: '/api/audit-logs', body });
  expect(recorded.status).toBe(201);
  expect((await checkpointOf(app, key)).size).toBe(1);
  const headers = { 'cache-control': 'no-cache' };
  const { text } = await call({ url: '/api/audit-logs/checkpoint', key, headers });
  expect(text.split('\n')[1]).toBe('2');
  expect((await checkpointOf(app, key)).size).toBe(2);
});

test('a proof between any two sizes shows that one continues the other', async () => {
  const rootOf = rootsOver(allLeaves);
  const edges = [0, 1, 2, 255, 256, 257, 511, 512, 65_535, 65_536, 65_537, 69_999, 70_000];
  const size = fc.oneof(fc.constantFrom(...edges), fc.integer({ min: 0, max: 70_000 }));
  await fc.assert(
    fc.asyncProperty(size, size, async (a, b) => {
      const [first, second] = [Math.min(a, b), Math.max(a, b)];
      const url = `/api/audit-logs/consistency?first=${first}&second=${second}`;
      const { status, body } = await call({ url, key: grown.key });
      expect(status).toBe(200);
      expect({ first: body.first, second: body.second }).toEqual({ first, second });
      const path = body.path.map((hash: string) => Buffer.from(hash, 'hex'));
      const [firstRoot, secondRoot] = [rootOf(first), rootOf(second)];
      const claim = { first, second, firstRoot, secondRoot, path };
      expect(verifyConsistency(sha, claim)).toBe(true);
      if (path.length > 0) {
        path[0] = Buffer.alloc(hashBytes);
        expect(verifyConsistency(sha, claim)).toBe(false);
      }
    }),
    costlyRuns,
  );
});

/** MTH(D[0:n]) of RFC 6962 for any n; complete subtrees are computed once. */
function rootsOver(leaves: readonly Buffer[]): (size: number) => Buffer {
  const complete = new Map<string, Buffer>();
  const span = (start: number, end: number): Buffer => {
    const key = `${start}-${end}`;
    const known = complete.get(key);
    if (known) return known;
    if (end - start < 2) return end === start ? sha(Buffer.of()) : (leaves[start] as Buffer);
    let split = 1;
    while (split * 2 < end - start) split *= 2;
    const parts = [Buffer.of(1), span(start, start + split), span(start + split, end)];
    const root = sha(Buffer.concat(parts));
    if (split * 2 === end - start) complete.set(key, root);
    return root;
  };
  return (size) => span(0, size);
}

test.each([
  ['first=1', 400, 'invalid_parameter'],
  ['first=2&second=1', 400, 'invalid_parameter'],
  ['first=-1&second=1', 400, 'invalid_parameter'],
  ['first=1&second=1e3', 400, 'invalid_parameter'],
  ['first=1&first=2&second=3', 400, 'invalid_parameter'],
  ['first=1&second=9007199254740993', 400, 'invalid_parameter'],
  ['first=1&second=2&third=3', 400, 'unknown_parameter'],
  ['first=1&second=70001', 404, 'not_found'],
])('a consistency proof of %s is refused with %i', async (query, status, code) => {
  const answer = await call({ url: `/api/audit-logs/consistency?${query}`, key: grown.key });
  expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
});

test('an operator reads a log with a declared reason, which the tenant finds in it', async () => {
  const { id, key } = await newTenant();
  const log = await logIdOf(id);
  const operator = await token({ role: 'superadmin', email: 'op@example.com' });
  const named = { 'x-tenant-id': id };
  // The first of them has no checkpoint yet: signing one is part of the same read.
  const urls = [
    `/l/${log}/checkpoint`,
    '/api/audit-logs/checkpoint',
    `/l/${log}/tile/entries/000.p/1`,
    '/api/audit-logs/consistency?first=0&second=1',
  ];
  for (const url of urls) {
    expect((await call({ url, key: operator })).status, url).toBe(400);
    const without = await call({ url, key: operator, headers: named });
    expect({ status: without.status, code: without.body.code }).toEqual({
      status: 403,
      code: 'reason_required',
    });
    const headers = { ...named, 'x-access-reason': `why ${urls.indexOf(url)}` };
    expect((await call({ url, key: operator, headers })).status, url).toBe(200);
  }
  const { body } = await call({ url: '/api/audit-logs?cross_tenant=true&limit=100', key });
  const seen = body.data.map(({ reason, actor }: { reason: string; actor: { email: string } }) => [
    reason,
    actor.email,
  ]);
  const answered = urls.map((_url, n) => [`why ${n}`, 'op@example.com']);
  // All of these are one look at the log, so one refusal is told.
  expect(seen.sort()).toEqual([[null, 'op@example.com'], ...answered].sort());
  // What lies elsewhere is looked for in the tenant's log too.
  const other = { url: `${prefix}/checkpoint`, key: operator };
  const headers = { ...named, 'x-access-reason': 'curious' };
  expect((await call({ ...other, headers })).status).toBe(404);
});

test('the keys are public, under the name of whichever log is asked for', async () => {
  const keysOf = (query: string) =>
    call({ url: `/.well-known/indelible-log.json${query}`, key: null });
  const { status, body } = await keysOf('');
  expect({ status, origin: body.origin, count: body.keys.length }).toEqual({
    status: 200,
    origin: 'localhost',
    count: 1,
  });
  const [key] = body.keys;
  expect(key).toMatchObject({ notBefore: expect.stringMatching(/Z$/), notAfter: null });
  const { body: own } = await keysOf(`?origin=localhost${prefix}`);
  expect(own.keys[0].vkey).toMatch(new RegExp(`^localhost${prefix}\\+[0-9a-f]{8}\\+`));
  // One key: only its name differs.
  expect(own.keys[0].vkey.split('+').slice(2)).toEqual(key.vkey.split('+').slice(2));
  for (const query of [
    '?origin=elsewhere',
    `?origin=elsewhere${prefix}`,
    `?origin=${prefix}`,
    `?origin=/llocalhost/${prefix.slice(3)}`,
    '?origin=localhost/l/zz',
    '?origin=',
    '?origin=localhost&origin=localhost',
  ]) {
    const refused = await keysOf(query);
    expect({ status: refused.status, code: refused.body.code }, query).toEqual({
      status: 400,
      code: 'invalid_parameter',
    });
  }
  expect((await keysOf('?tenant=1')).body.code).toBe('unknown_parameter');
});
