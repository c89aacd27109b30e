import { capsuleParts, uuidFromTypeId, verifyCapsule } from '@indelible/protocol';
import { configOf } from '@indelible/testing/archived';
import {
  actorOf,
  ana,
  ben,
  eraseNow,
  nilId,
  readEvent,
  recordEach,
} from '@indelible/testing/erasure-setup';
import { askForJob, download, exportsUrl, exportUntil, hasEnded } from '@indelible/testing/exports';
import { expectLogIntact } from '@indelible/testing/intact';
import { keyOf } from '@indelible/testing/restore-setup';
import { testService } from '@indelible/testing/service';
import { beforeEach, expect, test } from 'vitest';
import { sha } from '../crypto/sha256.ts';
import { openObjectStore } from '../objects/open-store.ts';

let tenant: { id: string; key: string };
const service = await testService();
service.app.jobs.start();
beforeEach(async () => {
  tenant = await service.tenant();
  await recordEach(service, tenant.key, [
    { actor: actorOf(ana, 'ana@example.com') },
    { actor: actorOf(ben, 'ben@example.com') },
  ]);
  service.clock.now += 1_000;
});

const erase = () => eraseNow(service, { tenantId: tenant.id, actor: 'ana@example.com' });

const searchesUrl = '/api/audit-logs/searches';
async function search(filters: object, note: string) {
  const { status, body } = await service.call({
    method: 'POST',
    url: searchesUrl,
    key: tenant.key,
    body: { filters, note },
  });
  expect(status).toBe(201);
  return body;
}

const differs = { agrees: false, earlierAgrees: false, bodiesExpired: false };

async function opened(id: string) {
  const { status, body } = await service.call({ url: `${searchesUrl}/${id}`, key: tenant.key });
  expect(status).toBe(200);
  return body;
}

/** What a verifier says of the capsule of a search. */
async function verdictOf(id: string) {
  const url = `${searchesUrl}/${id}/capsule`;
  const { status, text } = await service.call({ method: 'POST', url, key: tenant.key });
  expect(status).toBe(200);
  const parts = capsuleParts(text);
  if (parts === null) throw new Error('this is no capsule');
  return verifyCapsule(sha, parts);
}

const idsOf = async (table: string) => {
  const byAge = `SELECT id FROM ${table} WHERE tenant_id = $1 ORDER BY id`;
  const { rows } = await service.owner.query(byAge, [tenant.id]);
  return rows.map(({ id }) => id);
};

/** Stores this in a place that keeps queries; returns its public id. */
async function stored(url: string, body: object): Promise<string> {
  const scopes = ['alerts:write', 'webhooks:write', 'events:read', 'exports:write'];
  const key = await keyOf(service, tenant.id, scopes);
  const answer = await service.call({ method: 'POST', url, key, body });
  expect([answer.body.detail, answer.status]).toEqual([undefined, 201]);
  return answer.body.id;
}

const match = { name: 'Rule', kind: 'match', enabled: true };
const places: [string, string, object][] = [
  ['searches', searchesUrl, { unknown: true }],
  ['views', '/api/views', { name: 'View', shared: true }],
  ['alert_rules', '/api/alert-rules', match],
  ['webhooks', '/api/webhooks', { url: 'https://receiver.example.com/hook' }],
];

/** Filters, and whether they name Ana. */
const queries: [object, boolean][] = [
  [{ user: ['ANA@example.com'] }, true],
  [{ user: ['!ana@example.com'] }, true],
  [{ onBehalfOf: ['ana@example.com'] }, true],
  [{ q: ['ana example COM login'] }, true],
  [{ target: ['user_ana'] }, true],
  [{ q: ['user_ana login'] }, true],
  [{ user: ['x.ana@example.com'] }, false],
  [{ q: ['ana@example.com.br'] }, false],
  [{ target: ['user_anabel'] }, false],
  [{ user: [ana] }, false], // only the host product knows whose id it is
];

test('each stored query that names the person by address or own id is deleted, and listed', async () => {
  await recordEach(service, tenant.key, [
    { actor: { ...actorOf(ana, 'ana@example.com'), externalId: 'user_ana' } },
  ]);
  for (const [filters] of queries) {
    for (const [, url, body] of places) await stored(url, { ...body, filters });
  }
  const before = await Promise.all(places.map(([table]) => idsOf(table)));
  const { deleted } = await erase();
  const { searches, views, alertRules, webhooks } = deleted ?? {};
  const gone = before.map((ids) => ids.filter((_, at) => queries[at]?.[1]));
  expect([searches, views, alertRules, webhooks]).toEqual(gone);
  const left = await Promise.all(places.map(([table]) => idsOf(table)));
  expect(left).toEqual(before.map((ids) => ids.filter((_, at) => !queries[at]?.[1])));
  const url = '/api/audit-logs?action=erase';
  const { body } = await service.call({ url, key: tenant.key });
  const { after } = await readEvent(service, tenant.key, body.data[0].id);
  expect(after.deleted).toEqual(deleted);
  await expectLogIntact(service, tenant.id);
});

test('a query is deleted if its note, its name or a following filter names the person', async () => {
  await search({}, 'asked by -ANA@example.com.');
  await stored('/api/views', { name: 'Of ana@example.com', filters: {}, shared: true });
  const threshold = { ...match, kind: 'threshold', count: 2, windowMinutes: 5, filters: {} };
  await stored('/api/alert-rules', { ...threshold, followedBy: { user: ['ana@example.com'] } });
  await erase();
  for (const table of ['searches', 'views', 'alert_rules']) expect(await idsOf(table)).toEqual([]);
});

test('a queued export whose filters name the person fails, and loses its filters', async () => {
  const { id } = await askForJob(service, tenant.key, { filters: { user: ['ana@example.com'] } });
  await exportUntil(service, tenant.key, id, hasEnded);
  await service.owner.query(
    "UPDATE exports SET status = 'queued', finished_at = NULL, stored = false WHERE tenant_id = $1",
    [tenant.id],
  );
  await erase();
  const { body } = await service.call({ url: `${exportsUrl}/${id}`, key: tenant.key });
  expect(body).toMatchObject({ status: 'failed', filters: {} });
});

test('a saved search finds less where an erasure has emptied what it compares, and says so', async () => {
  const person = { email: 'ben@example.com' };
  await recordEach(service, tenant.key, [
    { actor: actorOf(ana, 'ana@example.com'), onBehalfOf: [person] },
  ]);
  service.clock.now += 1_000;
  const others = await search({ user: ['ben@example.com'] }, '');
  const words = await search({ q: ['ana'] }, '');
  const behalf = await search({ onBehalfOf: ['ben@example.com'] }, '');
  await eraseNow(service, { tenantId: tenant.id, actor: ana });
  expect((await opened(others.id)).now).toMatchObject({ agrees: true, erasedSince: false });
  for (const { id } of [words, behalf]) {
    expect((await opened(id)).now).toMatchObject({ ...differs, erasedSince: true });
  }
});

test('a stored query that another one has replaced differs without an excuse', async () => {
  const saved = await search({ user: ['ben@example.com'] }, '');
  await erase();
  await service.owner.query(
    `UPDATE searches SET filters = jsonb_set(filters::jsonb, '{user}', $3)::text::json
     WHERE tenant_id = $1 AND id = $2`,
    [tenant.id, uuidFromTypeId('srch_', saved.id), JSON.stringify([nilId])],
  );
  expect((await opened(saved.id)).now).toMatchObject({ ...differs, erasedSince: false });
  expect((await verdictOf(saved.id)).code).toBe('damaged');
});

test('the record of a saved search is erased by its id, that of an operator’s look is not', async () => {
  await search({ user: ['ana@example.com'] }, '');
  const reason = { 'x-tenant-id': tenant.id, 'x-access-reason': 'help' };
  await service.call({ url: '/api/audit-logs?user=ana@example.com', headers: reason });
  const idOf = async (action: string) => {
    const url = `/api/audit-logs?resource=audit_log&action=${action}`;
    return (await service.call({ url, key: tenant.key })).body.data[0].id;
  };
  const target = { tenantId: tenant.id, segment: 'state' } as const;
  const eventId = await idOf('search');
  await eraseNow(service, { ...target, eventId });
  const { erased, after } = await readEvent(service, tenant.key, eventId);
  expect({ erased, after }).toEqual({ erased: ['state'], after: null });
  await expect(eraseNow(service, { ...target, eventId: await idOf('access') })).rejects.toThrow(
    /what an operator looked at/,
  );
  await expectLogIntact(service, tenant.id);
});

test('an alert rule goes on for the other people that it notifies', async () => {
  const notify = { emails: ['Ana@example.com', 'ben@example.com'] };
  const id = await stored('/api/alert-rules', { ...match, filters: { action: ['login'] }, notify });
  await erase();
  const key = await keyOf(service, tenant.id, ['alerts:write', 'events:read']);
  const { body: left } = await service.call({ url: `/api/alert-rules/${id}`, key });
  expect(left).toMatchObject({ name: 'Rule', notify: { emails: ['ben@example.com'] } });
  expect(JSON.stringify(left)).not.toMatch(/ana@/i);
});

test('values that name other people stay, also those whose address only ends alike', async () => {
  const saved = await search({ user: ['ben@example.com'] }, 'what did Ben do?');
  const alike = await search({}, 'x.ana@example.com, bob-ana@example.com; ana@example.com.br');
  const key = await keyOf(service, tenant.id, ['alerts:write', 'events:read']);
  const emails = ['xana@example.com', 'ana@example.com.br'];
  const rule = { name: `Logins of ${emails}`, kind: 'match', filters: { q: ['menu'] } };
  const url = '/api/alert-rules';
  const body = { ...rule, notify: { emails } };
  const made = await service.call({ method: 'POST', url, key, body });
  expect(made.status).toBe(201);
  await erase();
  const { body: left } = await service.call({ url: `${url}/${made.body.id}`, key });
  expect(left).toMatchObject(body);
  expect(await opened(saved.id)).toMatchObject(saved);
  expect((await opened(alike.id)).note).toBe(alike.note);
});

test('an address is found in any case, as searches find it, not as PostgreSQL lowers it', async () => {
  const key = await keyOf(service, tenant.id, ['events:read', 'exports:write']);
  const email = 'ΝΙΚΟΣ@İ.example.com';
  const person = { externalId: 'nikos', email };
  await recordEach(service, tenant.key, [{ actor: actorOf(ben, null), onBehalfOf: [person] }]);
  await askForJob(service, key);
  await service.owner.query('UPDATE exports SET mail_to = $2 WHERE tenant_id = $1', [
    tenant.id,
    email,
  ]);
  const saved = await search({ onBehalfOf: [email] }, `asked by ΝΊΚΟΣ@x and (${email}).`);
  const other = await search({}, `asked by Α${email}`);
  await eraseNow(service, { tenantId: tenant.id, actor: 'νικος@i\u0307.example.com' });
  const { body } = await service.call({ url: '/api/audit-logs?q=nikos', key: tenant.key });
  expect(JSON.stringify(body)).not.toContain('ΝΙΚΟΣ');
  const { rows } = await service.owner.query('SELECT mail_to FROM exports WHERE tenant_id = $1', [
    tenant.id,
  ]);
  expect(rows).toEqual([{ mail_to: null }]);
  const uuids = [saved, other].map(({ id }) => uuidFromTypeId('srch_', id));
  expect(await idsOf('searches')).toEqual(uuids.slice(1));
  await expectLogIntact(service, tenant.id);
});

test('the words of a host product about the person go, and no other ones', async () => {
  await service.owner.query(
    `INSERT INTO restores (tenant_id, id, event_id, resource_type, resource_id, target, status, reason,
       requested_at, requested_by_id, requested_by_role, finished_at)
     SELECT $1, gen_random_uuid(), gen_random_uuid(), 'menu', gen_random_uuid(), 'before', 'refused', answer,
       now(), $2, 'admin', now() FROM unnest($3::text[]) AS answer`,
    [tenant.id, ben, ['locked by Ana@example.com', 'locked by ben@example.com']],
  );
  await erase();
  const { rows } = await service.owner.query(
    'SELECT reason FROM restores WHERE tenant_id = $1 ORDER BY reason',
    [tenant.id],
  );
  expect(rows).toEqual([{ reason: 'locked by ben@example.com' }, { reason: null }]);
});

test("a receiver's answer about the person goes, and no other answer", async () => {
  const key = await keyOf(service, tenant.id, ['webhooks:write', 'events:read']);
  const { body: webhook } = await service.call({
    method: 'POST',
    url: '/api/webhooks',
    key,
    body: { url: 'https://receiver.example.com/hook' },
  });
  await service.owner.query(
    `INSERT INTO webhook_deliveries (tenant_id, webhook_id, id, message_id, type, status, attempt, events, at,
       duration_ms, response)
     SELECT w.tenant_id, w.id, gen_random_uuid(), w.id, 'audit.events.recorded', 'failed', 1, 1, $3, 1, answer
     FROM webhooks w, unnest($2::text[]) AS answer WHERE w.tenant_id = $1`,
    [
      tenant.id,
      ['no user Ana@example.com', 'no user ben@example.com'],
      new Date(service.clock.now),
    ],
  );
  await erase();
  const url = `/api/webhooks/${webhook.id}/deliveries`;
  const { body } = await service.call({ url, key });
  const answers = body.data.map(({ response }: { response: string | null }) => response);
  expect(answers.toSorted()).toEqual(['no user ben@example.com', null]);
});

test('files of exports expire at once, and a new one has nothing of the person', async () => {
  const { id } = await askForJob(service, tenant.key, { format: 'ndjson' });
  await exportUntil(service, tenant.key, id, hasEnded);
  expect((await download(service, tenant.key, id)).text).toContain('ana@example.com');
  const outcome = await erase();
  expect(outcome.files).toBe(1);
  const { body } = await service.call({ url: `${exportsUrl}/${id}`, key: tenant.key });
  expect(body.status).toBe('expired');
  const gone = await service.call({ url: `${exportsUrl}/${id}/download`, key: tenant.key });
  expect(gone.status).toBe(410);
  const objects = openObjectStore(configOf(service).objectStoreUrl);
  expect(await objects.list(`exports/${tenant.id}`)).toEqual([]);
  const again = await askForJob(service, tenant.key, { format: 'ndjson' });
  await exportUntil(service, tenant.key, again.id, hasEnded);
  const { text } = await download(service, tenant.key, again.id);
  expect(text).not.toContain('ana@example.com');
  expect(text).toContain('"erased":["identity"]');
  await expectLogIntact(service, tenant.id);
});

test('a file that could not be removed is removed by the next run', async () => {
  const { id } = await askForJob(service, tenant.key);
  await exportUntil(service, tenant.key, id, hasEnded);
  const target = { tenantId: tenant.id, actor: ana };
  const remove = () => Promise.reject(new Error('the object store is away'));
  const objects = openObjectStore(configOf(service).objectStoreUrl);
  const away = { objects: { ...objects, remove } };
  await expect(eraseNow(service, target, away)).rejects.toThrow('away');
  // It is shown to no reader any more.
  const gone = await service.call({ url: `${exportsUrl}/${id}/download`, key: tenant.key });
  expect(gone.status).toBe(410);
  await eraseNow(service, target);
  expect(await objects.list(`exports/${tenant.id}`)).toEqual([]);
});

test('sessions and links of the person end, those of others and of operators do not', async () => {
  const link = (id: string, email: string, role: string) =>
    service.call({
      method: 'POST',
      url: '/api/viewer-links',
      body: {
        tenantId: tenant.id,
        actor: { id, email, role },
        ...(role === 'superadmin' ? { reason: 'help' } : {}),
      },
    });
  await link(ana, 'ana@example.com', 'admin');
  await link(ben, 'Ana@Example.com', 'admin');
  await link(ana, 'ana@example.com', 'superadmin');
  await link(ben, 'ben@example.com', 'admin');
  await erase();
  const { rows } = await service.owner.query(
    `SELECT actor_email AS email, actor_role AS role FROM viewer_links WHERE tenant_id = $1 ORDER BY 1`,
    [tenant.id],
  );
  expect(rows).toEqual([
    { email: 'ana@example.com', role: 'superadmin' },
    { email: 'ben@example.com', role: 'admin' },
  ]);
});
