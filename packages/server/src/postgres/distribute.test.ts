import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { expectLogIntact } from '@indelible/testing/intact';
import { eventOf, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { withOwnerSession } from './db.ts';
import { distribute } from './distribute.ts';

const service = await testService();

test('a database without Citus is refused with a sentence and stays as it is', async () => {
  const said: string[] = [];
  const attempt = withOwnerSession(service.ownerUrl, (owner) =>
    distribute(owner, 4, (line) => said.push(line)),
  );
  await expect(attempt).rejects.toThrow('the database has no extension citus');
  expect(said).toEqual([]);
});

test('every function that takes a tenant first is strict: Citus crashes on a null tenant', async () => {
  const { rows } = await service.owner.query<{ name: string; strict: boolean }>(
    `SELECT proname AS name, proisstrict AS strict FROM pg_proc
     WHERE pronamespace = 'indelible'::regnamespace AND proargnames[1] IN ('home', 'tenant')`,
  );
  expect(rows.length).toBeGreaterThan(4);
  expect(rows.filter(({ strict }) => !strict)).toEqual([]);
});

test('no function that runs on the node of its tenant joins plans: Citus refuses it there', async () => {
  const { rows } = await service.owner.query<{ name: string }>(
    `SELECT proname AS name FROM pg_proc WHERE pronamespace = 'indelible'::regnamespace
       AND proisstrict AND proargnames[1] IN ('home', 'tenant')
       AND prosrc ~* '(join|,)\\s+plans\\y|from\\s+plans\\s*(\\w+\\s*)?(,|join)'`,
  );
  expect(rows).toEqual([]);
});

test('every table that distributing must find has a tenant_id, or is named as one for all tenants', async () => {
  const { rows } = await service.owner.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class c WHERE relnamespace = 'indelible'::regnamespace
       AND relkind IN ('r', 'p') AND NOT relispartition
       AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'tenant_id') ORDER BY 1`,
  );
  expect(rows.map(({ name }) => name)).toEqual([
    ...['archive_runs', 'installation', 'installation_key', 'log_rounds', 'migrations', 'plans'],
    ...['processes', 'retention_clock', 'round_objects', 'signing_keys', 'tenants'],
  ]);
});

test('an event of one tenant changes no row of another', async () => {
  const [own, other] = [await service.tenant(), await service.tenant()];
  const record = (key: string, ...ids: { id: string }[]) =>
    service.call({
      method: 'POST',
      url: '/api/audit-logs/batch',
      key,
      body: { events: ids.map((id) => eventOf(id)) },
    });
  await record(other.key, ...(Array.from({ length: 300 }, () => ({})) as { id: string }[]));
  const before = await rowsOf(other.id);
  const source = { id: `recorder/${randomUUID()}`, sequence: 0 };
  const late = new Date(service.clock.now - 3 * 86_400_000).toISOString();
  for (let times = 0; times < 2; times++) {
    await service.call({
      method: 'POST',
      url: '/api/audit-logs/batch',
      key: own.key,
      body: {
        events: [
          ...Array.from({ length: 298 }, () => eventOf({})),
          eventOf({ source }),
          eventOf({ timestamp: late }),
        ],
      },
    });
  }
  const body = { name: 'Own', plan: 'Pro' };
  await service.call({ method: 'PUT', url: `/api/tenants/${own.id}`, body });
  expect(await rowsOf(other.id)).toEqual(before);
  await expectLogIntact(service, own.id);
  await expectLogIntact(service, other.id);
});

const ofTenant = ['log_heads', 'log_tail', 'log_tiles', 'audit_events', 'sources', 'source_gaps'];

/** A hash of the tenant's rows, by table. */
async function rowsOf(tenantId: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const table of ofTenant) {
    const { rows } = await service.owner.query<{ hash: string }>(
      `SELECT md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) AS hash FROM ${table} t
       WHERE tenant_id = $1`,
      [tenantId],
    );
    found[table] = rows[0]?.hash ?? '';
  }
  return found;
}

const folder = new URL('../', import.meta.url);
const stores = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => /store\.ts$/.test(name))
  .map((name): [string, string] => [name, readFileSync(new URL(name, folder), 'utf8')]);

/** Formulations that Citus refuses, or answers wrongly, with where they are harmless. */
const banned: [string, RegExp, string[]][] = [
  ['ctid and tableoid, which mix shards', /\b(ctid|tableoid)\b/, []],
  ['EXISTS of no column', /EXISTS \(SELECT FROM (?!unnest|jsonb?_|pg_)/, []],
  ['a CASE of a column in an UPDATE', /SET [^`']*= CASE [\w.]+ WHEN/, []],
  ['a recursive query', /WITH RECURSIVE/, []],
  ['a subquery among VALUES', /VALUES \([^`']*\(SELECT/, []],
  ['a random id in an UPDATE', /UPDATE [^`']*gen_random_uuid/, []],
  [
    'locks on rows of several tenants',
    /LIMIT \S+ FOR (NO KEY )?UPDATE/,
    ['background/jobs.store.ts'],
  ],
];

test.each(banned)('no statement has %s', (_, pattern, harmless) => {
  expect(stores.length).toBeGreaterThan(30);
  const found = stores.filter(([name, text]) => pattern.test(text) && !harmless.includes(name));
  expect(found.map(([name]) => name)).toEqual([]);
});
