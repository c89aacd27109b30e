import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { poolEvents, recordAll } from '../testing/event-pool.ts';
import { expectLogIntact } from '../testing/intact.ts';
import { eventOf, type TestService, testService } from '../testing/service.ts';
import { openDatabase, readTenant } from './db.ts';

const roles = ['indelible_reader', 'indelible_writer', 'login'] as const;
type Role = (typeof roles)[number];

let service: TestService;
let tenant: { id: string; key: string };
let partition: string;
const clients = new Map<Role, pg.Client>();

beforeAll(async () => {
  service = await testService();
  tenant = await service.tenant();
  // Enough for a tile and a tail.
  await recordAll(service, tenant.key, poolEvents(300, service.clock.now, 20));
  const found = await service.owner.query(
    'SELECT tableoid::regclass::text AS name FROM audit_events WHERE tenant_id = $1 LIMIT 1',
    [tenant.id],
  );
  partition = found.rows[0].name;
  for (const role of roles) {
    const options = `-c search_path=indelible${role === 'login' ? '' : ` -c role=${role}`}`;
    const client = new pg.Client({ connectionString: service.servingUrl, options });
    await client.connect();
    clients.set(role, client);
  }
});
afterAll(async () => {
  for (const client of clients.values()) await client.end();
  await service.close();
});

/** The SQLSTATE of a statement in a transaction of its own that is rolled back, or `done`. */
async function attempt(role: Role, sql: string, values: unknown[] = []): Promise<string> {
  const client = clients.get(role);
  if (!client) throw new Error(`no connection as ${role}`);
  await client.query('BEGIN');
  try {
    await client.query("SELECT set_config('app.tenant_id', $1, true)", [tenant.id]);
    await client.query(sql, values);
    return 'done';
  } catch (error) {
    return String((error as { code?: string }).code);
  } finally {
    await client.query('ROLLBACK');
  }
}

const denied = '42501';

const tables = ['audit_events', 'partition', 'log_heads', 'log_tail', 'log_tiles'];
const changes = [
  'UPDATE % SET tenant_id = tenant_id',
  'DELETE FROM %',
  'TRUNCATE %',
  'DROP TABLE %',
  'ALTER TABLE % ADD COLUMN forged int',
  'ALTER TABLE % DISABLE ROW LEVEL SECURITY',
  'ALTER TABLE % OWNER TO CURRENT_USER',
  'ALTER TABLE % RENAME TO gone',
  'ALTER TABLE % SET SCHEMA public',
  'SELECT FROM % FOR UPDATE',
  'LOCK TABLE % IN ACCESS EXCLUSIVE MODE',
  'CREATE INDEX ON % (tenant_id)',
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
      expect(outcome, statement).toBe(denied);
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
      'DROP FUNCTION lock_heads(uuid[], boolean)',
      'ALTER FUNCTION lock_heads(uuid[], boolean) SECURITY INVOKER',
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
  'the role %s grows logs by append_log alone, and cannot overwrite while inserting',
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
      expect(await attempt(role, sql), sql).toBe(denied);
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
  const { rows } = await service.owner.query<{ right: string }>(
    `SELECT DISTINCT format('%s %s %s', substr(grantee::regrole::text, 11), privilege_type, relname) AS right
     FROM pg_class, LATERAL (
       SELECT grantee, privilege_type FROM aclexplode(relacl)
       UNION ALL SELECT a.grantee, a.privilege_type || '(' || attname || ')' FROM pg_attribute, aclexplode(attacl) a WHERE attrelid = pg_class.oid
     ) acl
     WHERE relnamespace = 'indelible'::regnamespace AND grantee <> relowner AND privilege_type <> 'SELECT' ORDER BY 1`,
  );
  expect(rows.map(({ right }) => right)).toEqual([
    'writer DELETE alert_cursors',
    'writer DELETE alert_rules',
    'writer DELETE former_emails',
    'writer DELETE jobs',
    'writer DELETE processes',
    'writer DELETE sessions',
    'writer DELETE viewer_links',
    'writer DELETE views',
    'writer DELETE webhook_deliveries',
    'writer DELETE webhooks',
    'writer DELETE word_blocks',
    'writer DELETE word_lists',
    'writer INSERT alert_cursors',
    'writer INSERT alert_rules',
    'writer INSERT api_keys',
    'writer INSERT audit_events',
    'writer INSERT exports',
    'writer INSERT former_emails',
    'writer INSERT grace',
    'writer INSERT jobs',
    'writer INSERT processes',
    'writer INSERT restores',
    'writer INSERT searches',
    'writer INSERT sessions',
    'writer INSERT tenants',
    'writer INSERT viewer_links',
    'writer INSERT views',
    'writer INSERT webhook_deliveries',
    'writer INSERT webhooks',
    'writer INSERT word_blocks',
    'writer INSERT word_heads',
    'writer INSERT word_lists',
    'writer SELECT(seen_at) retention_clock',
    'writer UPDATE former_emails',
    'writer UPDATE processes',
    'writer UPDATE tenants',
    'writer UPDATE views',
    'writer UPDATE word_heads',
    'writer UPDATE(alive_at) exports',
    'writer UPDATE(announced_sequence) webhooks',
    'writer UPDATE(attempt) exports',
    'writer UPDATE(attempt) webhooks',
    'writer UPDATE(attempts) jobs',
    'writer UPDATE(body) restores',
    'writer UPDATE(bytes) exports',
    'writer UPDATE(credential) webhooks',
    'writer UPDATE(digests_until) installation',
    'writer UPDATE(dropped) alert_rules',
    'writer UPDATE(due_at) jobs',
    'writer UPDATE(due_at) webhooks',
    'writer UPDATE(enabled) alert_rules',
    'writer UPDATE(expires_at) exports',
    'writer UPDATE(failure) exports',
    'writer UPDATE(filters) webhooks',
    'writer UPDATE(finished_at) exports',
    'writer UPDATE(finished_at) restores',
    'writer UPDATE(format) webhooks',
    'writer UPDATE(from_sequence) alert_rules',
    'writer UPDATE(headers) webhooks',
    'writer UPDATE(idle_expires_at) sessions',
    'writer UPDATE(last_used_at) api_keys',
    'writer UPDATE(late_skipped) alert_cursors',
    'writer UPDATE(lease) alert_cursors',
    'writer UPDATE(lease) jobs',
    'writer UPDATE(lease) webhooks',
    'writer UPDATE(lease_until) alert_cursors',
    'writer UPDATE(lease_until) webhooks',
    'writer UPDATE(message_at) webhooks',
    'writer UPDATE(message_end) webhooks',
    'writer UPDATE(message_id) webhooks',
    'writer UPDATE(message_type) webhooks',
    'writer UPDATE(muted_until) alert_rules',
    'writer UPDATE(name) webhooks',
    'writer UPDATE(next_sequence) alert_cursors',
    'writer UPDATE(next_sequence) webhooks',
    'writer UPDATE(notice) exports',
    'writer UPDATE(notified) exports',
    'writer UPDATE(options) webhooks',
    'writer UPDATE(paused_because) webhooks',
    'writer UPDATE(previous_secret) webhooks',
    'writer UPDATE(previous_secret_until) webhooks',
    'writer UPDATE(reason) restores',
    'writer UPDATE(revision) webhooks',
    'writer UPDATE(revoked_at) api_keys',
    'writer UPDATE(rows_done) exports',
    'writer UPDATE(rows_total) exports',
    'writer UPDATE(secret) webhooks',
    'writer UPDATE(served_at) alert_cursors',
    'writer UPDATE(served_at) webhooks',
    'writer UPDATE(settings) alert_rules',
    'writer UPDATE(sha256) exports',
    'writer UPDATE(silent_at) alert_rules',
    'writer UPDATE(silent_since) sources',
    'writer UPDATE(status) exports',
    'writer UPDATE(status) restores',
    'writer UPDATE(status) webhooks',
    'writer UPDATE(stored) exports',
    'writer UPDATE(tell_at) alert_rules',
    'writer UPDATE(told_at) alert_rules',
    'writer UPDATE(told_at) source_gaps',
    'writer UPDATE(types) webhooks',
    'writer UPDATE(until) grace',
    'writer UPDATE(untold) alert_rules',
    'writer UPDATE(updated_at) alert_rules',
    'writer UPDATE(updated_at) webhooks',
    'writer UPDATE(url) webhooks',
    'writer UPDATE(version) alert_rules',
  ]);
  const { rows: open } = await service.owner.query(
    `SELECT relname FROM pg_class WHERE relnamespace = 'indelible'::regnamespace
     AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'tenant_id')
     AND relkind IN ('r', 'p') AND NOT relispartition AND NOT relrowsecurity`,
  );
  // Keys are looked up before the tenant is known; the reader may not see that table at all.
  expect(open.map(({ relname }) => relname)).toEqual(['api_keys']);
});

test('whatever options the database URL brings, each pool acts in its own role', async () => {
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

interface Head {
  size: number;
  received: string;
}

async function head(): Promise<Head> {
  const { rows } = await service.owner.query(
    'SELECT size::float8, last_received_us AS received FROM log_heads WHERE tenant_id = $1',
    [tenant.id],
  );
  return rows[0];
}

const frontierOf = (size: number) =>
  Buffer.alloc(32 * size.toString(2).replaceAll('0', '').length, 1);
const entry = Buffer.alloc(60, 2);

/** What append_log answers to one entry more, with these changes to the arguments. */
async function append(
  change: (honest: {
    size: number;
    received: string;
  }) => Partial<Record<'old' | 'next' | 'frontier' | 'received' | 'sequence' | 'tenants', unknown>>,
) {
  const { size, received } = await head();
  const given = {
    old: size,
    next: size + 1,
    received,
    sequence: size,
    tenants: [tenant.id],
    ...change({ size, received }),
  };
  const frontier = given.frontier ?? frontierOf(Number(given.next));
  const repeat = (value: unknown) =>
    Array.isArray(given.tenants) ? given.tenants.map(() => value) : value;
  return attempt(
    'indelible_writer',
    'SELECT append_log($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)',
    [
      tenant.id,
      given.tenants,
      repeat(given.old),
      repeat(given.next),
      repeat(frontier),
      repeat(given.received),
      [tenant.id],
      [given.sequence],
      [entry],
      [],
      [],
      [],
      [],
      [],
    ],
  );
}

/** A constraint, or the function's own refusal, whichever comes first. */
const refused = /^(235\d\d|55000)$/;

test('append_log takes what follows the head, and nothing else', async () => {
  expect(await append(() => ({}))).toBe('done');
  const moved = '55000';
  expect(await append(({ size }) => ({ old: size - 1 })), 'a fork').toBe(moved);
  expect(await append(({ size }) => ({ old: size + 1, next: size + 2 })), 'a skipped head').toBe(
    moved,
  );
  expect(await append(({ size }) => ({ next: size })), 'no growth').toBe(moved);
  expect(await append(({ size }) => ({ next: size - 1 })), 'a rewind').toBe(moved);
  expect(await append(() => ({ next: 0, frontier: Buffer.alloc(0) })), 'a wiped log').toBe(moved);
  expect(await append(() => ({ received: '0' })), 'time running backwards').toBe(moved);
  expect(await append(() => ({ tenants: [tenant.id, tenant.id] })), 'the same head twice').toBe(
    moved,
  );
  expect(
    await append(() => ({ tenants: ['00000000-0000-0000-0000-000000000001'] })),
    'no such log',
  ).toBe(moved);
  expect(await append(({ size }) => ({ sequence: size - 1 })), 'an overwritten entry').toMatch(
    refused,
  );
  expect(await append(() => ({ frontier: Buffer.alloc(31) })), 'half a hash').toBe('23514');
  expect(await append(() => ({ frontier: frontierOf(2 ** 20 - 1) })), 'another tree').toBe('23514');
  expect(await append(() => ({ old: null })), 'nothing for a size').toBe(moved);
  const before = await head();
  await append(() => ({ tenants: null }));
  expect(await head(), 'nothing at all').toEqual(before);
});

test('a tile that exists cannot be written again, nor one made of fewer entries', async () => {
  const tile = async (level: number, index: number, rest: Buffer) =>
    attempt(
      'indelible_writer',
      "SELECT append_log($1, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', $2, $3, $4, $5, $6)",
      [tenant.id, [tenant.id], [level], [index], [Buffer.alloc(32)], [rest]],
    );
  expect(await tile(0, 0, Buffer.alloc(256 * 60))).toMatch(refused);
  expect(await tile(0, 1, Buffer.alloc(60))).toMatch(refused);
  expect(await tile(1, 0, Buffer.alloc(0))).toMatch(refused);
  await expectLogIntact(service, tenant.id);
});

test('open_log opens no class that does not exist, and changes no log that has another', async () => {
  const open = (id: string | null, retentionClass: number | null) =>
    attempt('indelible_writer', 'SELECT open_log($1, $2, gen_random_uuid())', [id, retentionClass]);
  for (const retentionClass of [-1, 4, 32_767])
    expect(await open(tenant.id, retentionClass)).toBe('23503');
  const before = await head();
  for (const [id, retentionClass] of [
    [null, 1],
    [tenant.id, null],
  ] as const)
    await open(id, retentionClass);
  await service.db.writer.query('SELECT open_log($1, 2::smallint, gen_random_uuid())', [tenant.id]);
  expect(await head()).toEqual(before);
  await expectLogIntact(service, tenant.id);
});

test('make_partition leaves what exists alone, and takes no text for a name', async () => {
  const make = (retentionClass: unknown, moment: unknown) =>
    attempt('indelible_writer', 'SELECT make_partition($1::smallint, $2::timestamptz)', [
      retentionClass,
      moment,
    ]);
  const partitions = async () =>
    (
      await service.owner.query(
        "SELECT count(*)::int AS n FROM pg_inherits WHERE inhparent = 'audit_events'::regclass",
      )
    ).rows[0].n;
  const before = await partitions();
  await service.db.writer.query('SELECT make_partition(2::smallint, $1)', [
    new Date(service.clock.now),
  ]);
  expect(await partitions()).toBe(before);
  expect(await make('2; DROP TABLE audit_events', 'now')).toBe('22P02');
  expect(await make(2, "now'); DROP TABLE audit_events; --")).toBe('22007');
  expect(await make(2, null)).not.toBe('done');
  expect(await make(null, 'now')).not.toBe('done');
  expect(await make(2, 'infinity')).not.toBe('done');
  expect(await make(2, '-infinity')).not.toBe('done');
  expect(await partitions()).toBe(before);
  await expectLogIntact(service, tenant.id);
});

test('a writer makes no partition for what no plan keeps', async () => {
  const sql = 'SELECT make_partition($1::smallint, $2)';
  for (const [retentionClass, years] of Object.entries([2, 3, 9])) {
    const moment = new Date(Date.now() - years * 366 * 86_400_000);
    expect(await attempt('indelible_writer', sql, [retentionClass, moment])).toBe('22023');
  }
});

test('append_log takes exactly what the log grows by: no hole, no tile before its time, nothing of another log', async () => {
  const moved = '55000';
  const { size } = await head();
  expect(await append(() => ({ next: size + 2 })), 'a hole at the end').toBe(moved);
  expect(await append(() => ({ next: size + 2, sequence: size + 1 })), 'a hole').toBe(moved);
  expect(await append(() => ({ next: (size >> 8) * 256 + 256 })), 'a tile left out').toBe(moved);
  const text = 'SELECT append_log($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)';
  const none = [[], [], [], [], []];
  const entryOnly = [tenant.id, ...none, [tenant.id], [size], [entry], ...none];
  expect(await attempt('indelible_writer', text, entryOnly), 'an entry without a head').toBe(moved);
  const rest = Buffer.alloc((256 - (size % 256)) * 60);
  const tileOnly = [
    tenant.id,
    ...none,
    [],
    [],
    [],
    [tenant.id],
    [0],
    [size >> 8],
    [Buffer.alloc(32)],
    [rest],
  ];
  expect(await attempt('indelible_writer', text, tileOnly), 'a tile without a head').toBe(moved);
});

test.each([
  [-1, 'now'],
  [4, 'now'],
  [32_767, 'now'],
  [1, '1969-12-31T23:59:59Z'],
  [1, '0044-03-15 BC'],
  [1, '4000-01-01'],
])('no partition of class %s is made for %s', async (retentionClass, moment) => {
  const sql = 'SELECT make_partition($1::smallint, $2::timestamptz)';
  expect(await attempt('indelible_writer', sql, [retentionClass, moment])).toBe('22023');
});
