import { capsuleParts, uuidFromTypeId, verifyCapsule } from '@indelible/protocol';
import { beforeEach, expect, test } from 'vitest';
import { sha } from '../crypto/sha256.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { configOf } from '../testing/archived.ts';
import {
  actorOf,
  ana,
  ben,
  eraseNow,
  nilId,
  readEvent,
  recordEach,
} from '../testing/erasure-setup.ts';
import { askForJob, download, exportsUrl, exportUntil, hasEnded } from '../testing/exports.ts';
import { expectLogIntact } from '../testing/intact.ts';
import { keyOf } from '../testing/restore-setup.ts';
import { testService } from '../testing/service.ts';

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

test('a saved search no longer names the person, and still finds what it found', async () => {
  const saved = await search({ user: ['ana@example.com'] }, '-ANA@example.com.');
  expect(saved.matched.value).toBe(1);
  await erase();
  const { body } = await service.call({ url: `${searchesUrl}/${saved.id}`, key: tenant.key });
  expect(body).toMatchObject({ filters: { user: [ana] }, note: null });
  expect(body.now).toMatchObject({ agrees: true, matched: { value: 1 } });
  expect(JSON.stringify(body)).not.toMatch(/ana@example/i);
});

test('an unknown address of a saved search is erased as the query is, and stays unknown', async () => {
  const kept = await service.call({
    method: 'POST',
    url: searchesUrl,
    key: tenant.key,
    body: { filters: { onBehalfOf: 'Ana@example.com' }, unknown: true },
  });
  expect(kept.body).toMatchObject({ unknownValues: { onBehalfOf: ['ana@example.com'] } });
  await erase();
  const body = await opened(kept.body.id);
  expect(body).toMatchObject({
    filters: { onBehalfOf: [ana] },
    unknownValues: { onBehalfOf: [ana] },
  });
});

test('a search by an address that several people had is rewritten by an erasure, and says so', async () => {
  await recordEach(service, tenant.key, [
    { actor: actorOf(ana, 'other@example.com') },
    { actor: actorOf(ana, null) },
  ]);
  service.clock.now += 1_000;
  const saved = await search({ user: ['ana@example.com'] }, '');
  const others = await search({ user: ['ben@example.com'] }, '');
  const words = await search({ q: ['ana'] }, '');
  await erase();
  const { now } = await opened(saved.id);
  expect(now).toMatchObject({ matched: { value: 3 }, ...differs, erasedSince: true });
  expect(await verdictOf(saved.id)).toMatchObject({
    code: 'intact',
    problems: [],
    content: { isSaved: false, isRewritten: true, unseen: 0 },
  });
  const url = '/api/audit-logs?resource=search';
  const { body } = await service.call({ url, key: tenant.key });
  const { filters } = await opened(saved.id);
  expect(body.data).toHaveLength(1);
  expect(await readEvent(service, tenant.key, body.data[0].id)).toMatchObject({
    action: 'update',
    recordedBy: { kind: 'service' },
    after: { filters },
  });
  // A query that the erasure did not touch finds the same; one for erased words finds less.
  expect((await opened(others.id)).now).toMatchObject({ agrees: true, erasedSince: false });
  expect((await opened(words.id)).now).toMatchObject({ ...differs, erasedSince: true });
  await expectLogIntact(service, tenant.id);
});

test('a stored query that no erasure has left there differs without an excuse', async () => {
  const saved = await search({ user: ['ana@example.com'] }, '');
  const others = await search({ user: ['ben@example.com'] }, '');
  await erase();
  const change = (id: string, user: string) =>
    service.owner.query(
      `UPDATE searches SET filters = jsonb_set(filters::jsonb, '{user}', $3)::text::json
       WHERE tenant_id = $1 AND id = $2`,
      [tenant.id, uuidFromTypeId('srch_', id), JSON.stringify([user])],
    );
  await change(saved.id, nilId);
  await change(others.id, ana);
  for (const { id } of [saved, others]) {
    expect((await opened(id)).now).toMatchObject({ ...differs, erasedSince: false });
    expect((await verdictOf(id)).code).toBe('damaged');
  }
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

test('a saved search for what was done on behalf of the person no longer names them', async () => {
  const person = { id: ana, email: 'Ana@example.com' };
  await recordEach(service, tenant.key, [{ actor: actorOf(ben, null), onBehalfOf: [person] }]);
  service.clock.now += 1_000;
  const saved = await search({ onBehalfOf: ['ana@example.com'], user: ['!ana@example.com'] }, '');
  expect(saved.matched.value).toBe(1);
  await erase();
  const { body } = await service.call({ url: `${searchesUrl}/${saved.id}`, key: tenant.key });
  expect(body).toMatchObject({ filters: { onBehalfOf: [ana], user: [`!${ana}`] } });
  expect(body.now).toMatchObject({ agrees: true, matched: { value: 1 } });
});

test('an alert rule goes on without the address, for the person and for the others it tells', async () => {
  const key = await keyOf(service, tenant.id, ['alerts:write', 'events:read']);
  const rule = {
    name: 'Logins of Ana@example.com',
    kind: 'threshold',
    count: 2,
    windowMinutes: 5,
    filters: { user: ['ana@example.com'], action: ['login'] },
    followedBy: { user: ['!ANA@example.com'], q: ['ana@example.com'] },
    notify: { emails: ['Ana@example.com', 'ben@example.com'] },
  };
  const url = '/api/alert-rules';
  const { status, body } = await service.call({ method: 'POST', url, key, body: rule });
  expect([status, body.detail]).toEqual([201, undefined]);
  await erase();
  const { body: left } = await service.call({ url: `${url}/${body.id}`, key });
  expect(left).toMatchObject({
    filters: { user: [ana], action: ['login'] },
    followedBy: { user: [`!${ana}`], q: [ana] },
    notify: { emails: ['ben@example.com'] },
  });
  expect(JSON.stringify(left)).not.toMatch(/ana@/i);
});

test('what names other people stays, also those whose address only ends alike', async () => {
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

test('what searches for words of the address searches for the id, wherever it is stored', async () => {
  const scopes = ['alerts:write', 'webhooks:write', 'events:read'];
  const key = await keyOf(service, tenant.id, scopes);
  const post = async (url: string, body: object) => {
    const answer = await service.call({ method: 'POST', url, key, body });
    expect([answer.status, answer.body.detail]).toEqual([201, undefined]);
    return answer.body.id;
  };
  const q = [
    'ANA@example.com',
    'ana example COM login',
    '!(Ana@éxample.com)',
    'ana@example.com.br',
  ];
  const filters = { q: [...q, 'x.ana@example.com', 'menu'] };
  const match = { name: 'Words', kind: 'match', enabled: true };
  const hook = { url: 'https://receiver.example.com/hook', name: 'to ana@example.com' };
  const paths = [
    `${searchesUrl}/${await post(searchesUrl, { filters, note: '' })}`,
    `/api/views/${await post('/api/views', { name: 'Words of ana@example.com', filters, shared: true })}`,
    `/api/alert-rules/${await post('/api/alert-rules', { ...match, filters })}`,
    `/api/webhooks/${await post('/api/webhooks', { ...hook, filters })}`,
  ];
  await erase();
  const left = [ana, `!${ana}`, 'ana@example.com.br', 'x.ana@example.com', 'menu'];
  for (const url of paths) {
    const { body } = await service.call({ url, key });
    expect([url, body.filters.q?.toSorted()]).toEqual([url, left.toSorted()]);
    expect(body.name ?? '').not.toContain('ana@example.com');
  }
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
  const { body: left } = await service.call({ url: `${searchesUrl}/${saved.id}`, key: tenant.key });
  expect([left.note, left.filters.onBehalfOf]).toEqual([
    null,
    [expect.stringMatching(/^[0-9a-f-]+$/)],
  ]);
  const kept = await service.call({ url: `${searchesUrl}/${other.id}`, key: tenant.key });
  expect(kept.body.note).toBe(other.note);
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

test('what a receiver of webhooks answered about the person goes, and no other answer', async () => {
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
