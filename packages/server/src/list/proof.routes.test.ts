import { hash } from 'node:crypto';
import {
  commitmentOfBody,
  decodeEntry,
  parseBodyLine,
  uuidFromEventId,
  verifyInclusion,
} from '@indelible/protocol';
import { checkpointOf, publishedRounds, vkeyOf } from '@indelible/testing/checkpoints';
import { recordAll, recordOne } from '@indelible/testing/event-pool';
import { openNote } from '@indelible/testing/open-note';
import { recordingService } from '@indelible/testing/recording';
import { recordAt, tenantOf } from '@indelible/testing/retention-setup';
import { eventOf } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import { expect, test } from 'vitest';

const { service, tenant } = await recordingService({ AUTH_JWT_SECRET: jwtSecret });
const { call, app, owner, dataDir } = service;

const sha = (data: Uint8Array): Buffer => hash('sha256', data, 'buffer');
const fromHex = (text: string) => Buffer.from(text, 'hex');
const leafOf = (entry: Uint8Array) => sha(Buffer.concat([Buffer.of(0), entry]));
const tick = () => app.checkpoints.tick();

interface Receipt {
  id: string;
  sequence: number;
  leafHash: string;
}

const record = (key: string, changes: Record<string, unknown> = {}): Promise<Receipt> =>
  recordOne(service, key, eventOf(changes));
const recordMany = (key: string, count: number) =>
  recordAll(
    service,
    key,
    Array.from({ length: count }, (_, n) => eventOf({ reason: `number ${n}` })),
  );

const proofOf = (id: string, key: string, accept = 'application/json') =>
  call({ url: `/api/audit-logs/${id}/proof`, key, headers: { accept } });

/** Checks a proof from the log's entry up, with node:crypto and the tree of RFC 6962 alone. */
async function expectProven(tenantId: string, key: string, id: string): Promise<number> {
  const { status, body: proof } = await proofOf(id, key);
  expect(status).toBe(200);
  const { size, root } = openNote(proof.checkpoint, await vkeyOf(app, proof.checkpoint));
  const leafHash = leafOf(await storedEntry(tenantId, proof.sequence));
  expect(proof.leafHash).toBe(leafHash.toString('hex'));
  const path = proof.path.map(fromHex);
  const claim = { leafHash, index: proof.sequence, size, path, root };
  expect(verifyInclusion(sha, claim)).toBe(true);
  expect(verifyInclusion(sha, { ...claim, leafHash: sha(leafHash) })).toBe(false);
  const { body: event } = await call({ url: `/api/audit-logs/${id}`, key });
  expect(proof.event).toEqual(event);
  expect(proof).toMatchObject({ sequence: event.sequence, receivedAt: event.receivedAt });
  return size;
}

/** One entry, read past all code of the service. */
async function storedEntry(tenantId: string, sequence: number): Promise<Buffer> {
  const { rows } = await service.db.writer.query<{ entry: Buffer }>(
    `SELECT substr(data, 1 + 60 * ($2::int % 256), 60) AS entry FROM log_tiles
       WHERE tenant_id = $1 AND level = 0 AND index = $2::int / 256
     UNION ALL SELECT entry FROM log_tail WHERE tenant_id = $1 AND sequence = $2`,
    [tenantId, sequence],
  );
  return rows[0]?.entry ?? Buffer.of();
}

test('every event is proven against the signed root, wherever it stands in the log', async () => {
  const { id, key } = tenant;
  const events = [await record(key), ...(await recordMany(key, 700)), await record(key)];
  await tick();
  const sizes = [0, 1, 2, 252, 253, 254, 255, 300, 509, 510, 511, 700, 701].map((n) =>
    expectProven(id, key, events[n]?.id ?? ''),
  );
  expect(new Set(await Promise.all(sizes))).toEqual(new Set([704]));
  // As the log grows, the same events are proven against its newer roots.
  await recordMany(key, 70);
  await tick();
  expect(await expectProven(id, key, events[700]?.id ?? '')).toBe(774);
});

test('content of every kind opens the commitment that the entry holds', async () => {
  const { id, key } = tenant;
  const kinds = [
    {},
    { before: { a: [1, null], é: '\u2028' }, after: { a: 1 } },
    { reason: 'why', diff: { 'x.y': { from: 1e-7, to: '"' } } },
    { actor: { id: '00000000-0000-0000-0000-000000000000', role: 'superadmin' }, diff: {} },
  ];
  const receipts: Receipt[] = [];
  for (const changes of kinds) receipts.push(await record(key, changes));
  await tick();
  for (const { id: eventId } of receipts) {
    const { body: proof, text } = await proofOf(eventId, key);
    const { event, salts } = proof;
    const { commitment, eventUuid } = decodeEntry(await storedEntry(id, proof.sequence));
    expect(proof.commitment).toBe(Buffer.from(commitment).toString('hex'));
    expect(eventUuid).toBe(uuidFromEventId(eventId));
    expect(Object.keys(salts)).toHaveLength(event.hasState ? 4 : 3);
    const body = parseBodyLine(JSON.stringify({ event, salts }));
    expect(Buffer.from(commitmentOfBody(sha, body)).toString('hex')).toBe(proof.commitment);
    expect(text).not.toContain('tenant_id');
  }
});

test('the same proof is served as C2SP tlog-proof to who accepts text', async () => {
  const { key } = tenant;
  const [first] = await recordMany(key, 9);
  await tick();
  const { body: proof } = await proofOf(first?.id ?? '', key);
  const { status, headers, text } = await proofOf(first?.id ?? '', key, 'text/plain');
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('text/plain; charset=utf-8');
  const path = proof.path.map((hash: string) => `${fromHex(hash).toString('base64')}\n`).join('');
  expect(text).toBe(
    `c2sp.org/tlog-proof@v1\nindex ${proof.sequence}\n${path}\n${proof.checkpoint}`,
  );
  expect(path.split('\n').length - 1).toBeGreaterThan(2);
});

test('a later proof proves the answer of the recording call', async () => {
  const { key } = tenant;
  const given = 'evt_audit_01k47h6zr0f868n1725yta1txt';
  const receipt = await record(key, { id: given, timestamp: '2025-09-03T10:16:00.000Z' });
  const batch = await recordMany(key, 20);
  await tick();
  const { body: proof } = await proofOf(given, key);
  expect({ sequence: proof.sequence, leafHash: proof.leafHash }).toEqual({
    sequence: receipt.sequence,
    leafHash: receipt.leafHash,
  });
  for (const { id: eventId, sequence } of batch) {
    expect((await proofOf(eventId, key)).body.sequence).toBe(sequence);
  }
  // A repeated call gives the same receipt.
  const again = await call({
    method: 'POST',
    url: '/api/audit-logs',
    key,
    body: eventOf({ id: given, timestamp: '2025-09-03T10:16:00.000Z' }),
  });
  expect(again.status).toBe(200);
  expect(again.body).toMatchObject({ sequence: receipt.sequence, leafHash: receipt.leafHash });
});

test('an event newer than the last checkpoint is proven all the same', async () => {
  const { id, key } = tenant;
  await tick();
  const before = publishedRounds(dataDir).length;
  // No other round is made: the service has no timers here.
  const asked = Array.from({ length: 10 }, async () => {
    const { id: eventId } = await record(key);
    return expectProven(id, key, eventId);
  });
  for (const size of await Promise.all(asked)) expect(size).toBeGreaterThan(2);
  expect(publishedRounds(dataDir).length).toBeGreaterThan(before);
});

test('an event that its plan no longer shows is no longer proven', async () => {
  const { id, key } = await tenantOf(service, 'Starter', 30);
  const eventId = await recordAt(service, { id, key }, service.clock.now - 29 * 86_400_000);
  await tick();
  expect((await proofOf(eventId, key)).status).toBe(200);
  service.clock.now += 2 * 86_400_000;
  expect((await proofOf(eventId, key)).status).toBe(404);
  service.clock.now -= 2 * 86_400_000;
});

test('a proof that an operator asks for is one record, also when something had to be signed', async () => {
  const { id, key } = tenant;
  await tick();
  const { id: eventId } = await record(key);
  const claims = { sub: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', role: 'superadmin' };
  const operator = await token({ ...claims, email: 'op@example.com' });
  const url = `/api/audit-logs/${eventId}/proof`;
  const named = { 'x-tenant-id': id };
  expect((await call({ url, key: operator, headers: named })).status).toBe(403);
  const headers = { ...named, 'x-access-reason': 'ticket 7' };
  const { status, body } = await call({ url, key: operator, headers });
  expect(status).toBe(200);
  expect(body.event.id).toBe(eventId);
  const seen = await call({ url: '/api/audit-logs?cross_tenant=true', key });
  expect(seen.body.data.map(({ reason }: { reason: string | null }) => reason)).toEqual([
    'ticket 7',
    null,
  ]);
});

async function logIdOf(tenantId: string): Promise<string> {
  const { rows } = await owner.query<{ id: string }>(
    `SELECT replace(log_id::text, '-', '') AS id FROM log_heads WHERE tenant_id = $1`,
    [tenantId],
  );
  return rows[0]?.id ?? '';
}

test('the bodies of a log come page by page, each as its entry commits to it', async () => {
  const { id, key } = tenant;
  for (let n = 0; n < 3; n++) await recordMany(key, 900);
  await record(key, { after: { state: 1 } });
  // The address of this actor is the host's own id.
  await record(key, { actor: { type: 'user', externalId: 'Ana@example.com', role: 'agent' } });
  let url = `/l/${await logIdOf(id)}/events`;
  const sequences: number[] = [];
  const ids: string[] = [];
  const pages: number[] = [];
  while (url !== '') {
    const { status, text, headers } = await call({ url, key });
    expect(status).toBe(200);
    expect(headers['content-type']).toContain('application/x-ndjson');
    const lines = text.split('\n').slice(0, -1);
    pages.push(lines.length);
    for (const line of lines) {
      const body = parseBodyLine(line);
      const { sequence } = body.event;
      sequences.push(sequence);
      ids.push(body.event.id);
      // Of each hundred the first three, and the last ones: one query each.
      if (sequence % 100 > 2 && sequence < 2_700) continue;
      const { commitment } = decodeEntry(await storedEntry(id, sequence));
      expect(Buffer.from(commitmentOfBody(sha, body))).toEqual(Buffer.from(commitment));
    }
    const next = /^<https?:\/\/[^/]+(\/[^>]+)>; rel="next"$/.exec(String(headers.link ?? ''));
    url = next?.[1] ?? '';
  }
  expect(pages).toEqual([2_000, 704]);
  expect(sequences.sort((a, b) => a - b)).toEqual([...Array(2_704).keys()]);
  expect([...ids].sort()).toEqual(ids);
});

test('bodies are those of the own log only, and begin where they are asked to', async () => {
  const [own, other] = [await service.tenant(), await service.tenant()];
  const { id } = await record(own.key);
  const path = `/l/${await logIdOf(own.id)}/events`;
  expect((await call({ url: `${path}?after=${id}`, key: own.key })).text).toBe('');
  const theirs = await call({ url: path, key: other.key });
  const missing = await call({ url: `/l/${'f'.repeat(32)}/events`, key: other.key });
  const problem = ({ requestId: _, ...rest }: Record<string, unknown>) => rest;
  expect([theirs.status, problem(theirs.body)]).toEqual([404, problem(missing.body)]);
  for (const query of ['after=x', 'after=', `after=${id}&after=${id}`]) {
    const { status, body } = await call({ url: `${path}?${query}`, key: own.key });
    expect({ status, code: body.code }, query).toEqual({ status: 400, code: 'invalid_parameter' });
  }
  const unknown = await call({ url: `${path}?cursor=x`, key: own.key });
  expect(unknown.body.code).toBe('unknown_parameter');
  expect((await checkpointOf(app, own.key)).size).toBe(3);
});
