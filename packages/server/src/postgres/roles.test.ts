import { clusterNodes } from '@indelible/testing/cluster';
import { recordAll } from '@indelible/testing/event-pool';
import { roleSessions, roles } from '@indelible/testing/role-sessions';
import { eventOf } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { openDatabase, readTenant } from './db.ts';

const { service, tenant, attempt } = await roleSessions();

const found = await service.owner.query(
  "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'audit_events'::regclass LIMIT 1",
);
const partition = found.rows[0].name;

const denied = '42501';
/** Citus refuses some statements before it looks at rights. */
const refusals = clusterNodes().length > 0 ? [denied, '0A000', 'XX000'] : [denied];

const tables = ['audit_events', 'partition', 'log_heads', 'log_tail', 'log_tiles'];
const changes = [
  ...['UPDATE % SET tenant_id = tenant_id', 'DELETE FROM %', 'TRUNCATE %', 'DROP TABLE %'],
  ...['ALTER TABLE % ADD COLUMN forged int', 'ALTER TABLE % DISABLE ROW LEVEL SECURITY'],
  ...['ALTER TABLE % OWNER TO CURRENT_USER', 'ALTER TABLE % RENAME TO gone'],
  ...['ALTER TABLE % SET SCHEMA public', 'SELECT FROM % FOR UPDATE'],
  ...['LOCK TABLE % IN ACCESS EXCLUSIVE MODE', 'CREATE INDEX ON % (tenant_id)'],
  'CREATE POLICY mine ON % USING (true)',
  'CREATE RULE mine AS ON INSERT TO % DO INSTEAD NOTHING',
  'CREATE TRIGGER mine BEFORE INSERT ON % EXECUTE FUNCTION suppress_redundant_updates_trigger()',
  // Granting what one does not hold is a warning; what follows shows that it gave nothing.
  'GRANT ALL ON % TO PUBLIC; DELETE FROM %',
  'CLUSTER %',
];

test.each(roles.flatMap((role) => tables.map((table) => [role, table] as const)))(
  'the role %s can neither change nor delete anything of %s, nor its shape',
  async (role, table) => {
    const name = table === 'partition' ? partition : table;
    for (const sql of changes) {
      const statement = sql.replaceAll('%', name);
      const outcome = await attempt(role, statement);
      expect(refusals, statement).toContain(outcome);
    }
  },
);

test.each(roles)(
  'the role %s cannot detach, attach or create partitions, nor anything else',
  async (role) => {
    for (const sql of [
      `ALTER TABLE audit_events DETACH PARTITION ${partition}`,
      `CREATE TABLE mine PARTITION OF audit_events DEFAULT`,
      'CREATE TABLE mine (a int)',
      'CREATE TABLE public.mine (a int)',
      'CREATE SCHEMA mine',
      'CREATE VIEW mine AS SELECT 1',
      "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
      'DROP FUNCTION lock_heads(uuid, uuid[], boolean)',
      'ALTER FUNCTION lock_heads(uuid, uuid[], boolean) SECURITY INVOKER',
      'DROP SCHEMA indelible CASCADE',
      'DROP POLICY tenant_only ON audit_events',
      'ALTER ROLE indelible_reader BYPASSRLS',
      'CREATE ROLE mine',
      'GRANT indelible_owner TO CURRENT_USER',
      'SET ROLE indelible_owner',
      'SET session_replication_role = replica',
      "COPY (SELECT 1) TO PROGRAM 'true'",
      "SELECT pg_read_file('PG_VERSION')",
      'CREATE EXTENSION dblink',
    ]) {
      // An extension that is not installed is missing before anybody is asked.
      expect([denied, ...(sql.includes('EXTENSION') ? ['0A000', '58P01'] : [])], sql).toContain(
        await attempt(role, sql),
      );
    }
  },
);

const inserts: [string, string][] = [
  ['audit_events', 'INSERT INTO audit_events SELECT * FROM audit_events LIMIT 1'],
  ['log_heads', 'INSERT INTO log_heads (tenant_id, retention_class) VALUES (gen_random_uuid(), 0)'],
  ['log_tail', "INSERT INTO log_tail VALUES (gen_random_uuid(), 0, repeat('x', 60)::bytea)"],
  [
    'log_tiles',
    "INSERT INTO log_tiles VALUES (gen_random_uuid(), 0, 0, repeat('x', 32)::bytea, repeat('x', 15360)::bytea)",
  ],
  [
    'tenants',
    "INSERT INTO tenants (id, name, plan, created_at, updated_at) VALUES (gen_random_uuid(), 'x', 'Pro', now(), now())",
  ],
  [
    'api_keys',
    "INSERT INTO api_keys (id, name, scopes, key_hash, created_at) VALUES (gen_random_uuid(), 'x', '{}', repeat('x', 32)::bytea, now())",
  ],
  ['installation', 'INSERT INTO installation DEFAULT VALUES'],
  ['installation_key', 'INSERT INTO installation_key DEFAULT VALUES'],
  ['migrations', "INSERT INTO migrations (name) VALUES ('x')"],
];

test.each(inserts)('the reader cannot insert into %s', async (_, sql) => {
  expect(await attempt('indelible_reader', sql)).toBe(denied);
});

test('the reader cannot read the installation key', async () => {
  expect(await attempt('indelible_reader', 'SELECT seed FROM installation_key')).toBe(denied);
});

test.each(['indelible_writer', 'login'] as const)(
  'the role %s grows logs by append_events alone, and cannot overwrite while inserting',
  async (role) => {
    const forbidden = inserts.filter(([table]) => /^(log_|installation|migrations)/.test(table));
    for (const [, sql] of forbidden) expect(await attempt(role, sql), sql).toBe(denied);
    for (const sql of [
      `INSERT INTO ${partition} SELECT * FROM audit_events LIMIT 1`,
      'INSERT INTO audit_events SELECT * FROM audit_events LIMIT 1 ON CONFLICT (tenant_id, retention_class, id) DO UPDATE SET action = excluded.action',
      'MERGE INTO audit_events e USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE',
      "UPDATE api_keys SET key_hash = repeat('y', 32)::bytea",
      'UPDATE api_keys SET tenant_id = NULL',
      'UPDATE api_keys SET expires_at = NULL',
      'DELETE FROM api_keys',
      'UPDATE installation SET id = gen_random_uuid()',
      'UPDATE installation_key SET seed = DEFAULT',
    ]) {
      expect(refusals, sql).toContain(await attempt(role, sql));
    }
  },
);

test.each(roles)('the role %s cannot delete a tenant', async (role) => {
  for (const sql of [
    'DELETE FROM tenants',
    'TRUNCATE tenants',
    'DROP TABLE tenants',
    'ALTER TABLE tenants DISABLE ROW LEVEL SECURITY',
  ]) {
    expect(await attempt(role, sql), sql).toBe(denied);
  }
});

test('the reader sees no API keys, runs none of the functions that write, and cannot turn off row-level security', async () => {
  const functions = await service.owner.query<{ call: string }>(
    `SELECT format('SELECT %I(%s)', proname, (SELECT string_agg(format('(SELECT NULL::%s)', type::regtype), ', ') FROM unnest(proargtypes) type)) AS call
     FROM pg_proc WHERE pronamespace = 'indelible'::regnamespace`,
  );
  const calls = functions.rows.map(({ call }) => call);
  expect(calls.length).toBeGreaterThan(4);
  for (const sql of [
    ...calls,
    'SELECT FROM api_keys',
    'UPDATE tenants SET name = name',
    'SET LOCAL row_security = off; SELECT FROM audit_events',
    `SELECT FROM ${partition}`,
  ]) {
    expect(await attempt('indelible_reader', sql), sql).toBe(denied);
  }
});

test('no serving role holds a right on any table beyond those that are named here', async () => {
  const { rows } = await service.owner.query<{ role: string; name: string; rights: string[] }>(
    `SELECT role, name, array_agg(privilege || coalesce('(' || columns || ')', '') ORDER BY privilege) AS rights FROM (
       SELECT substr(grantee::regrole::text, 11) AS role, relname::text AS name, privilege_type AS privilege,
         string_agg(attname, ' ' ORDER BY attname) AS columns
       FROM pg_class, LATERAL (
         SELECT grantee, privilege_type, NULL AS attname FROM aclexplode(relacl)
         UNION ALL SELECT a.grantee, a.privilege_type, attname FROM pg_attribute, aclexplode(attacl) a WHERE attrelid = pg_class.oid AND NOT attisdropped
       ) acl
       WHERE relnamespace = 'indelible'::regnamespace AND grantee <> relowner
         AND (privilege_type <> 'SELECT' OR attname IS NOT NULL)
       GROUP BY 1, 2, 3
     ) held GROUP BY 1, 2`,
  );
  expect(new Set(rows.map(({ role }) => role))).toEqual(new Set(['writer']));
  expect(Object.fromEntries(rows.map(({ name, rights }) => [name, rights]))).toEqual({
    alert_cursors: [
      'DELETE',
      'INSERT',
      'UPDATE(late_skipped lease lease_until next_sequence served_at)',
    ],
    alert_rules: [
      'DELETE',
      'INSERT',
      'UPDATE(dropped enabled from_sequence muted_until settings silent_at tell_at told_at untold updated_at version)',
    ],
    api_keys: ['INSERT', 'UPDATE(last_used_at revoked_at)'],
    audit_events: ['INSERT'],
    exports: [
      'INSERT',
      'UPDATE(alive_at attempt bytes expires_at failure finished_at notice notified rows_done rows_total sha256 status stored)',
    ],
    former_emails: ['DELETE', 'INSERT', 'UPDATE'],
    installation: ['UPDATE(digests_until)'],
    jobs: ['DELETE', 'INSERT', 'UPDATE(attempts due_at lease)'],
    mail_recipients: ['DELETE', 'INSERT', 'UPDATE'],
    processes: ['DELETE', 'INSERT', 'UPDATE'],
    restores: ['INSERT', 'UPDATE(body finished_at reason status)'],
    retention_clock: ['SELECT(seen_at)'],
    searches: ['INSERT'],
    sessions: ['DELETE', 'INSERT', 'UPDATE(idle_expires_at)'],
    source_gaps: ['UPDATE(told_at)'],
    sources: ['UPDATE(silent_since)'],
    tenants: [
      'INSERT(created_at digest external_id id legal_hold locale name notify_emails plan restore_url time_zone updated_at)',
      'UPDATE(digest digests_until external_id locale name notify_emails restore_secret restore_url time_zone updated_at)',
    ],
    viewer_links: ['DELETE', 'INSERT'],
    views: ['DELETE', 'INSERT', 'UPDATE'],
    webhook_deliveries: ['DELETE', 'INSERT'],
    webhooks: [
      'DELETE',
      'INSERT',
      'UPDATE(announced_sequence attempt credential due_at filters format headers lease lease_until message_at message_end message_id message_type name next_sequence options paused_because previous_secret previous_secret_until revision secret served_at status types updated_at url)',
    ],
    word_blocks: ['DELETE', 'INSERT'],
    word_heads: ['INSERT', 'UPDATE'],
    word_lists: ['DELETE', 'INSERT'],
  });
  const { rows: open } = await service.owner.query(
    `SELECT relname FROM pg_class WHERE relnamespace = 'indelible'::regnamespace
     AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'tenant_id')
     AND relkind IN ('r', 'p') AND NOT relispartition AND NOT relrowsecurity`,
  );
  // Keys are looked up before the tenant is known; the reader may not see that table at all.
  expect(open.map(({ relname }) => relname)).toEqual(['api_keys']);
});

test('each pool acts in its own role, whatever options the database URL brings', async () => {
  for (const own of [
    '-c role=none',
    '-c application_name=mine',
    '-c search_path=public -c role=indelible_writer',
  ]) {
    const given = `${service.servingUrl}${service.servingUrl.includes('?') ? '&' : '?'}options=${encodeURIComponent(own)}`;
    const db = openDatabase(given, { poolSize: 1, onIdleError: () => {} });
    try {
      for (const [pool, role] of [
        [db.reader, 'indelible_reader'],
        [db.writer, 'indelible_writer'],
      ] as const) {
        const { rows } = await pool.query('SELECT current_user AS name, current_schema AS schema');
        expect(rows).toEqual([{ name: role, schema: 'indelible' }]);
      }
      const seen = await readTenant(db, tenant.id, (tx) =>
        tx.query<{ name: string }>({ text: "SELECT current_setting('application_name') AS name" }),
      );
      if (own.includes('mine')) expect(seen.rows[0]?.name).toBe('mine');
    } finally {
      await db.close();
    }
  }
});

test('a tenant read is one snapshot', async () => {
  await readTenant(service.db, tenant.id, async (tx) => {
    const count = () => tx.query<{ n: number }>({ text: 'SELECT count(*) AS n FROM audit_events' });
    const before = await count();
    await recordAll(service, tenant.key, [eventOf()]);
    expect((await count()).rows).toEqual(before.rows);
  });
});

test('a tenant read cannot write, and needs a tenant', async () => {
  const text = 'CREATE TEMP TABLE mine (a int)';
  const writing = readTenant(service.db, tenant.id, (tx) => tx.query({ text }));
  await expect(writing).rejects.toMatchObject({ code: '25006' });
  await expect(readTenant(service.db, "'; --", async () => {})).rejects.toThrow(/not a UUID/);
});
