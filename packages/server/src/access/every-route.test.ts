import { randomUUID } from 'node:crypto';
import { eventIdFromUuid, eventUuid, type Scope, scopes } from '@indelible/protocol';
import { codeOf } from '@indelible/testing/answers';
import { admin, Browser, viewerToken } from '@indelible/testing/browser';
import { poolEvents, recordAll } from '@indelible/testing/event-pool';
import { askForJob } from '@indelible/testing/exports';
import { keyOf } from '@indelible/testing/restore-setup';
import { restoringHost } from '@indelible/testing/restoring-host';
import { type Answer, type CallOptions, eventOf, testService } from '@indelible/testing/service';
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';

/*
 * What every documented call refuses: callers without a credential or without the scope, and what
 * is of another tenant. Tests of single routes need not repeat it.
 */

type Need = Scope | 'authenticated' | 'open';

/** The right that each call needs. With `authenticated` the call itself decides. */
const callsByNeed: Record<Need, string> = {
  open: `GET /healthz, GET /readyz, GET /metrics, GET /.well-known/indelible-log.json,
    GET /api/audit-logs/exports/{id}/file, POST /api/session, DELETE /api/session,
    GET /api/panel-config`,
  authenticated: `GET /api/session, GET /api/sessions, DELETE /api/sessions/{id},
    GET /api/tenants/{id}, GET /api/tenants/{id}/api-keys`,
  'events:write': 'POST /api/audit-logs, POST /api/audit-logs/batch',
  'events:read': `GET /api/audit-logs, GET /api/audit-logs/{id}, GET /api/audit-logs/stats,
    GET /api/audit-logs/{id}/proof, GET /api/audit-logs/checkpoint,
    GET /api/audit-logs/consistency, GET /l/{logId}/events, GET /l/{logId}/checkpoint,
    GET /l/{logId}/tile/{path}, GET /api/sources, POST /api/audit-logs/searches,
    GET /api/audit-logs/searches, GET /api/audit-logs/searches/{id},
    POST /api/audit-logs/searches/{id}/capsule, GET /api/views, POST /api/views,
    GET /api/views/{id}, PUT /api/views/{id}, DELETE /api/views/{id}`,
  'exports:write': `GET /api/audit-logs/exports, POST /api/audit-logs/exports,
    GET /api/audit-logs/exports/{id}, GET /api/audit-logs/exports/{id}/download,
    DELETE /api/audit-logs/exports/{id}`,
  'restore:write': `GET /api/audit-logs/restores, GET /api/audit-logs/restores/{id},
    POST /api/audit-logs/{id}/restore`,
  'webhooks:write': `GET /api/webhooks, POST /api/webhooks, GET /api/webhooks/{id},
    PATCH /api/webhooks/{id}, POST /api/webhooks/{id}/pause, POST /api/webhooks/{id}/resume,
    POST /api/webhooks/{id}/secret, POST /api/webhooks/{id}/test,
    POST /api/webhooks/{id}/replay, POST /api/webhooks/{id}/skip, GET /api/webhooks/{id}/deliveries,
    DELETE /api/webhooks/{id}`,
  'alerts:write': `GET /api/alert-rules, POST /api/alert-rules, POST /api/alert-rules/test,
    GET /api/alert-rules/{id}, PUT /api/alert-rules/{id}, POST /api/alert-rules/{id}/test,
    POST /api/alert-rules/{id}/mute, POST /api/alert-rules/{id}/acknowledge,
    DELETE /api/alert-rules/{id}`,
  'tenants:write': `GET /api/tenants, PUT /api/tenants/{id}, POST /api/tenants/{id}/api-keys,
    POST /api/tenants/{id}/abandon,
    DELETE /api/tenants/{id}/api-keys/{keyId}, GET /api/api-keys, POST /api/api-keys,
    DELETE /api/api-keys/{keyId}`,
  'viewer-links:write': 'POST /api/viewer-links',
};

const needOf = new Map(
  (Object.keys(callsByNeed) as Need[]).flatMap((need) =>
    callsByNeed[need].split(/,\s+/).map((call) => [call, need] as const),
  ),
);

const service = await testService({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const host = await restoringHost(() => service.clock.now);

async function post(url: string, key: string, body: object): Promise<string> {
  const answer = await service.call({ method: 'POST', url, key, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.id;
}

/** A tenant with one of everything, and a key that may do all that a tenant may. */
async function tenantWithAll() {
  const { id } = await service.tenant();
  const put = { method: 'PUT', url: `/api/tenants/${id}`, body: { restoreUrl: host.url } } as const;
  host.secret = (await service.call(put)).body.restoreSecret;
  const key = await keyOf(service, id, [...scopes]);
  // 256 events make a tile.
  await recordAll(service, key, poolEvents(300, service.clock.now, 90));
  const states = { before: { a: 1 }, after: { a: id } };
  const event = await post('/api/audit-logs', key, eventOf(states));
  const view = { name: 'Logins', filters: {}, shared: true };
  const visitor = { tenantId: id, actor: admin() };
  await new Browser(service.app).signIn({ token: await viewerToken(service.app, visitor) });
  const published = { name: 'Published', kind: 'match', filters: { action: 'publish' } };
  const notify = { emails: ['ops@example.com'] };
  const rule = await post('/api/alert-rules', key, { ...published, notify });
  for (const sequence of [0, 2]) {
    const source = { id: 'billing', sequence };
    await post('/api/audit-logs', key, eventOf({ action: 'publish', source }));
  }
  await service.app.alerts.tick();
  const newest = async (url: string) => (await service.call({ url, key })).body.data[0].id;
  const alert = await newest(`/api/audit-logs?action=raise&resource_id=${rule}`);
  const session = await newest('/api/sessions');
  const { rows } = await service.owner.query('SELECT log_id FROM log_heads WHERE tenant_id = $1', [
    id,
  ]);
  return {
    id,
    key,
    event,
    apiKey: await newest(`/api/tenants/${id}/api-keys`),
    log: rows[0].log_id.replaceAll('-', '') as string,
    view: await post('/api/views', key, view),
    search: await post('/api/audit-logs/searches', key, { filters: { action: 'login' } }),
    restore: await post(`/api/audit-logs/${event}/restore`, key, { to: 'before' }),
    webhook: await post('/api/webhooks', key, { url: host.url }),
    rule,
    alert,
    session,
    export: (await askForJob(service, key)).id,
  };
}

type Rows = Omit<Awaited<ReturnType<typeof tenantWithAll>>, 'key'>;

let ours: Awaited<ReturnType<typeof tenantWithAll>>;
let theirs: typeof ours;
beforeAll(async () => {
  [ours, theirs] = [await tenantWithAll(), await tenantWithAll()];
  await service.app.checkpoints.tick();
  await service.app.webhooks.tick();
  await service.app.background.run('words');
});

/** Values that no tenant has, in the forms of those. */
const missing = (): Rows => ({
  id: randomUUID(),
  apiKey: randomUUID(),
  rule: randomUUID(),
  session: randomUUID(),
  event: eventIdFromUuid(eventUuid(service.clock.now, new Uint8Array(10).fill(9))),
  log: 'f'.repeat(32),
  view: `view_${'0'.repeat(26)}`,
  search: `srch_${'0'.repeat(26)}`,
  restore: `rst_${'0'.repeat(26)}`,
  webhook: `whk_${'0'.repeat(26)}`,
  alert: theirs.alert,
  export: `exp_${'0'.repeat(26)}`,
});

/** Ids of another form, or of another kind. */
const malformed = (): Rows => ({
  ...missing(),
  event: 'evt_audit_x',
  view: 'nonsense',
  search: theirs.restore,
  export: `${theirs.export}0`,
  restore: theirs.search,
  webhook: 'whk_nonsense',
});

/** The row that an id in a path names. */
function named(path: string, rows: Rows): string {
  const kinds = {
    '/api/tenants': rows.id,
    '/api/webhooks': rows.webhook,
    '/api/alert-rules': rows.rule,
    '/api/views': rows.view,
    '/api/audit-logs/searches': rows.search,
    '/api/audit-logs/restores': rows.restore,
    '/api/audit-logs/exports': rows.export,
    '/api/audit-logs/{': rows.event,
    '/api/sessions': rows.session,
  };
  return Object.entries(kinds).find(([start]) => path.startsWith(start))?.[1] ?? '';
}

const bodies: Record<string, (rows: Rows) => object> = {
  'PUT /api/views/{id}': () => ({ name: 'Changed', filters: {}, shared: true }),
  'POST /api/audit-logs/{id}/restore': () => ({ to: 'before' }),
  'PATCH /api/webhooks/{id}': () => ({ name: 'Changed' }),
  'POST /api/webhooks/{id}/replay': () => ({ fromSequence: 0 }),
  'POST /api/webhooks/{id}/skip': () => ({ toSequence: 1, reason: 'never accepted' }),
  'POST /api/alert-rules/{id}/test': () => ({ since: '2026-01-01' }),
  'PUT /api/alert-rules/{id}': () => ({ enabled: false }),
  'POST /api/alert-rules/{id}/mute': () => ({ until: null }),
  'POST /api/alert-rules/{id}/acknowledge': ({ alert }) => ({ alertId: alert }),
  'POST /api/tenants/{id}/api-keys': () => ({ name: 'x', scopes: ['events:read'] }),
  'PUT /api/tenants/{id}': () => ({ name: 'Changed' }),
};

const withoutBody = /\/(abandon|capsule|pause|resume|secret|test)$/;

/** The documented call on these rows; a path with two ids names the caller's tenant first. */
function callOn(call: string, rows: Rows, caller = rows): CallOptions {
  const [method = '', path = ''] = call.split(' ');
  const url = path
    .replace('{id}', path.includes('{keyId}') ? caller.id : named(path, rows))
    .replace('{keyId}', rows.apiKey)
    .replace('{logId}', rows.log)
    .replace('{path}', 'entries/000');
  const body = bodies[call]?.(rows) ?? (withoutBody.test(path) ? undefined : {});
  const hasBody = method !== 'GET' && method !== 'DELETE' && body !== undefined;
  return { method: method as 'GET', url, ...(hasBody && { body }) };
}

const protectedCalls = [...needOf].filter(([, need]) => need !== 'open').map(([call]) => call);
const callsById = protectedCalls.filter((call) => call.includes('{'));

test('this table has every documented call, and those without a credential are documented so', () => {
  const { paths = {} } = service.app.http.swagger();
  const documented = Object.entries(paths).flatMap(([path, calls]) =>
    Object.entries(calls as Record<string, { security?: unknown[] }>).map(
      ([verb, { security }]) => [`${verb.toUpperCase()} ${path}`, security?.length === 0] as const,
    ),
  );
  const table = [...needOf].map(([call, need]) => [call, need === 'open'] as const);
  expect(new Map(documented)).toEqual(new Map(table));
});

test('every open call answers without a credential', async () => {
  for (const call of callsByNeed.open.split(/,\s+/)) {
    const { text, body } = await service.call({ ...callOn(call, ours), key: null });
    expect(body.detail ?? text, call).not.toContain('credential');
  }
});

test.each(protectedCalls)(
  '%s without a credential is 401, also with an unknown one',
  async (call) => {
    for (const key of [null, 'idl_nobody', `${ours.key}x`, `${ours.key.slice(0, -1)}_`]) {
      const answer = await service.call({ ...callOn(call, ours), key });
      expect(codeOf(answer), String(key)).toEqual([401, 'unauthenticated']);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
    }
  },
);

test.each(scopes)('a call that needs %s is 403 for a key with all other scopes', async (scope) => {
  const others = scopes.filter((each) => each !== scope);
  const key = await keyOf(service, ours.id, others);
  for (const call of callsByNeed[scope].split(/,\s+/)) {
    const answer = await service.call({ ...callOn(call, ours), key });
    expect(codeOf(answer), call).toEqual([403, 'forbidden']);
    expect(answer.body.detail, call).toContain(scope);
  }
});

/** What a tenant's key may not even ask: they change tenants, or are the platform's. */
const isForbidden = /^(PUT .*tenants|POST .*abandon|(GET|POST) .*api-keys|DELETE .api.api-keys)/;

test.each(callsById)("%s on another tenant's row is answered as on a missing one", async (call) => {
  const ask = (rows: Rows) => service.call({ ...callOn(call, rows, ours), key: ours.key });
  const told = ({ text, body, headers }: Answer) => {
    return [text.replaceAll(body.requestId, ''), headers['content-type'], headers['cache-control']];
  };
  const answer = await ask(theirs);
  expect(answer.status).toBe(isForbidden.test(call) ? 403 : 404);
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(told(answer)).toEqual(told(await ask(missing())));
  expect(told(answer)).toEqual(told(await ask(malformed())));
});

const ofTenants = callsById.filter((call) =>
  /views|searches|exports|restore|webhooks|alert-rules/.test(call),
);

test.each(ofTenants)(
  '%s by an operator needs tenant and reason, and finds no unknown tenant',
  async (call) => {
    const ask = async (headers: Record<string, string>) =>
      codeOf(await service.call({ ...callOn(call, theirs), headers }));
    expect(await ask({})).toEqual([400, 'invalid_parameter']);
    expect(await ask({ 'x-tenant-id': theirs.id })).toEqual([403, 'reason_required']);
    const unknown = { 'x-tenant-id': randomUUID(), 'x-access-reason': 'support' };
    expect(await ask(unknown)).toEqual([404, 'not_found']);
  },
);

test('no list shows a row of another tenant', async () => {
  const { id, key, ...rows } = theirs;
  const shown = new Set<string>();
  for (const call of protectedCalls.filter((each) => /^GET [^{]+$/.test(each))) {
    const url = callOn(call, ours).url + (call.endsWith('/stats') ? '?group_by=day' : '');
    for (const each of [id, ...Object.values(rows)]) {
      if ((await service.call({ url, key })).text.includes(each)) shown.add(each);
      expect((await service.call({ url, key: ours.key })).text, call).not.toContain(each);
    }
  }
  expect(shown).toContain(rows.webhook);
});

/** Every table of tenants' data that the reader may read, with its column of the tenant. */
async function readableTables(): Promise<[string, string][]> {
  const { rows } = await service.owner.query<{ table: string }>(
    `SELECT relname AS table FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
     WHERE relnamespace = 'indelible'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
       AND attname = 'tenant_id' AND has_any_column_privilege('indelible_reader', pg_class.oid, 'SELECT')
     ORDER BY 1`,
  );
  return [['tenants', 'id'], ...rows.map(({ table }): [string, string] => [table, 'tenant_id'])];
}

test.each(await readableTables())(
  'row-level security alone shows the reader one tenant of %s, and none without one',
  async (table, column) => {
    const question = `SELECT DISTINCT ${column} AS id FROM ${table}`;
    const all = await service.owner.query(`${question} WHERE ${column} = $1`, [ours.id]);
    const client = new pg.Client({
      connectionString: service.servingUrl,
      options:
        '-c role=indelible_reader -c search_path=indelible -c citus.propagate_set_commands=local',
    });
    await client.connect();
    const seen = async (set: string | null) => {
      await client.query('BEGIN');
      if (set !== null)
        await client.query(`SET LOCAL app.tenant_id = ${client.escapeLiteral(set)}`);
      const { rows } = await client.query(question);
      await client.query('COMMIT');
      return rows.map(({ id }) => id);
    };
    expect(all.rowCount).toBe(1);
    const own = (id: string) => all.rows.map(() => id);
    try {
      expect(await seen(null)).toEqual([]);
      expect(await seen(ours.id)).toEqual(own(ours.id));
      expect(await seen(theirs.id.toUpperCase())).toEqual(own(theirs.id));
      expect(await seen(missing().id)).toEqual([]);
      expect(await seen('')).toEqual([]);
      expect(await seen(null)).toEqual([]);
      await expect(seen("' OR true --")).rejects.toMatchObject({ code: '22P02' });
    } finally {
      await client.end();
    }
  },
);

test('its own tenant finds each of these rows, unchanged by what others have asked', async () => {
  const last = (call: string) => Number(call.startsWith('DELETE')) + Number(call.includes('keyId'));
  const own = callsById.filter((call) => !isForbidden.test(call));
  const key = theirs.key;
  const view = await service.call({ ...callOn('GET /api/views/{id}', theirs), key });
  expect(view.body.name).toBe('Logins');
  const rule = await service.call({ ...callOn('GET /api/alert-rules/{id}', theirs), key });
  expect(rule.body.enabled).toBe(true);
  for (const call of own.toSorted((one, other) => last(one) - last(other))) {
    const { status, text } = await service.call({ ...callOn(call, theirs), key });
    expect([403, 404], `${call}: ${text}`).not.toContain(status);
  }
});
