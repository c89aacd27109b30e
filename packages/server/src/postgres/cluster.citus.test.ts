import { clusterNodes, homeOf, makeEmptyNode, on, spareNode } from '@indelible/testing/cluster';
import { databaseUrl } from '@indelible/testing/global-setup';
import { expectLogIntact } from '@indelible/testing/intact';
import { nthEvent, serviceOn, type TestService, testService } from '@indelible/testing/service';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { diagnoseDatabase } from '../operations/doctor-database.ts';
import { blocksWithGoneEvents } from '../words/store.ts';
import { withOwnerSession } from './db.ts';
import { distribute } from './distribute.ts';

/* What only a cluster can show; `npm run test:citus`. */

const service = await testService();
const spare = spareNode();
afterAll(async () => {
  if (spare)
    await on(spare, (node) => node.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`));
});
const [, ...workers] = clusterNodes();
const shards = 4;
const database = new URL(service.ownerUrl).pathname.slice(1);

/** Records batches of this tenant until told to stop; returns how many events were acknowledged. */
function recordWhile(own: TestService, key: string) {
  let stopped = false;
  const run = async () => {
    let acknowledged = 0;
    while (!stopped) {
      const events = Array.from({ length: 20 }, (_, n) => nthEvent(n));
      const call = { method: 'POST', url: '/api/audit-logs/batch', key, body: { events } } as const;
      const { status } = await own.call(call);
      expect([200, 503]).toContain(status);
      if (status === 200) acknowledged += events.length;
    }
    return acknowledged;
  };
  const running = run();
  return () => {
    stopped = true;
    return running;
  };
}

async function stored(tenantId: string): Promise<number> {
  const { rows } = await service.owner.query(
    "SELECT count(*) FROM audit_events WHERE tenant_id = $1 AND recorded_by_kind = 'api_key'",
    [tenantId],
  );
  return Number(rows[0].count);
}

test('a tenant moves to another node while it records: nothing is lost, and nothing stored twice', async () => {
  const { id, key } = await service.tenant();
  const stop = recordWhile(service, key);
  const { shard, from, to } = await homeOf(service.owner, id);
  const move = "SELECT citus_move_shard_placement($1, $2, $3, $4, $5, 'force_logical')";
  await service.owner.query(move, [shard, ...from, ...to]);
  const acknowledged = await stop();
  expect((await homeOf(service.owner, id)).from).toEqual(to);
  expect(acknowledged).toBeGreaterThan(0);
  expect(await stored(id)).toBe(acknowledged);
  await expectLogIntact(service, id);
});

test('a large tenant gets a shard of its own while it records', async () => {
  const { id, key } = await service.tenant();
  const stop = recordWhile(service, key);
  const { shard } = await homeOf(service.owner, id);
  await service.owner.query(
    "SELECT isolate_tenant_to_new_shard('log_heads', $1::uuid, 'CASCADE', 'block_writes')",
    [id],
  );
  const acknowledged = await stop();
  expect((await homeOf(service.owner, id)).shard).not.toBe(shard);
  expect(await stored(id)).toBe(acknowledged);
  await expectLogIntact(service, id);
});

const addressOf = (url: string) => [new URL(url).hostname, Number(new URL(url).port)];

/** How many shards of logs are on each node, by its port. */
async function shardsByPort(): Promise<Map<number, number>> {
  const { rows } = await service.owner.query<{ port: number; count: number }>(
    `SELECT nodeport AS port, count(*)::int AS count FROM citus_shards
     WHERE table_name = 'log_heads'::regclass GROUP BY nodeport`,
  );
  return new Map(rows.map(({ port, count }) => [port, count]));
}

test('a node leaves and a new one joins while tenants record: nothing is lost, and nothing stored twice', async () => {
  const leaver = workers.at(-1) ?? '';
  const joiner = spare ?? leaver;
  const [node, joined] = [addressOf(leaver), addressOf(joiner)];
  const tenants = await Promise.all(Array.from({ length: 8 }, () => service.tenant()));
  const stops = tenants.map(({ key }) => recordWhile(service, key));

  await service.owner.query("SELECT citus_drain_node($1, $2, 'force_logical')", node);
  // Of a node that is gone Citus can drop nothing, and then moves none of these shards again.
  await service.owner.query('CALL citus_cleanup_orphaned_resources()');
  await service.owner.query('SELECT citus_remove_node($1, $2)', node);
  expect((await shardsByPort()).get(Number(node[1]))).toBeUndefined();
  await makeEmptyNode(joiner, database);
  await service.owner.query('SELECT citus_add_node($1, $2)', joined);
  await service.owner.query('REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA indelible FROM PUBLIC');
  await service.owner.query(
    "SELECT rebalance_table_shards(shard_transfer_mode => 'force_logical')",
  );
  expect((await shardsByPort()).get(Number(joined[1]))).toBeGreaterThan(0);
  if (joiner !== leaver) workers.splice(-1, 1, joiner);

  const acknowledged = await Promise.all(stops.map((stop) => stop()));
  for (const [n, { id }] of tenants.entries()) {
    expect(await stored(id)).toBe(acknowledged[n]);
    await expectLogIntact(service, id);
  }
}, 300_000);

async function newTable(name: string): Promise<void> {
  await service.owner.query(`CREATE TABLE ${name} (tenant_id uuid PRIMARY KEY)`);
  await service.owner.query(`ALTER TABLE ${name} OWNER TO indelible_owner`);
}

const cluster = async () =>
  (await diagnoseDatabase(service.servingUrl, Date.now())).find(({ check }) => check === 'cluster');

test('distribute refuses a worker that may lose commits, and doctor names it', async () => {
  const [worker = ''] = workers;
  const set = (change: string) =>
    on(worker, (node) => node.query(`ALTER DATABASE ${database} ${change}`));
  await set('SET synchronous_commit = off');
  const again = withOwnerSession(service.ownerUrl, (owner) => distribute(owner, shards, () => {}));
  const { host } = new URL(worker);
  const sentence = expect.stringContaining(`synchronous_commit of ${host} is off`);
  await expect(again).rejects.toMatchObject({ message: sentence });
  expect(await cluster()).toMatchObject({ level: 'fail', detail: sentence });
  await set('RESET synchronous_commit');
  expect(await cluster()).toMatchObject({ level: 'ok' });
});

test('doctor says that the nodes reach each other, and names a table that is not distributed', async () => {
  expect(await cluster()).toMatchObject({ level: 'ok' });
  await newTable('newer');
  expect(await cluster()).toMatchObject({
    level: 'fail',
    detail: expect.stringContaining('newer'),
  });
  const again = () =>
    withOwnerSession(service.ownerUrl, (owner) => distribute(owner, shards, () => {}));
  await again();
  expect(await cluster()).toMatchObject({ level: 'ok' });
  await service.owner.query('DROP TABLE newer');
});

test('rows that an interrupted run left on the coordinator are removed by the next', async () => {
  await newTable('left_over');
  await service.owner.query('INSERT INTO left_over VALUES (gen_random_uuid())');
  const made =
    "SELECT create_distributed_table('left_over', 'tenant_id', colocate_with => 'tenants')";
  await service.owner.query(made);
  const bytes = async () => {
    const { rows } = await service.owner.query(
      "SELECT pg_relation_size('left_over')::int AS bytes",
    );
    return rows[0].bytes;
  };
  expect(await bytes()).toBeGreaterThan(0);
  await withOwnerSession(service.ownerUrl, (owner) => distribute(owner, shards, () => {}));
  expect(await bytes()).toBe(0);
  expect((await service.owner.query('SELECT FROM left_over')).rowCount).toBe(1);
  await service.owner.query('DROP TABLE left_over');
});

test('retention finds the words of removed events on all nodes', async () => {
  const gone = withOwnerSession(service.ownerUrl, (owner) =>
    blocksWithGoneEvents(owner, Date.now()),
  );
  expect(await gone).toEqual([]);
});

test('on a worker the roles of the service can change no event, and others call no function', async () => {
  const { id, key } = await service.tenant();
  const body = { events: [nthEvent(0)] };
  await service.call({ method: 'POST', url: '/api/audit-logs/batch', key, body });
  for (const url of workers) {
    const node = new pg.Client({ connectionString: databaseUrl(url, database) });
    await node.connect();
    const { rows } = await node.query(
      "SELECT oid::regclass::text AS name FROM pg_class WHERE relkind IN ('r', 'p') AND relname ~ '^(audit_events|log_tail|log_tiles|log_heads)'",
    );
    expect(rows.length).toBeGreaterThan(0);
    const callable = await node.query(
      "SELECT proname FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE pronamespace = 'indelible'::regnamespace AND grantee = 0",
    );
    expect(callable.rows).toEqual([]);
    for (const role of ['indelible_writer', 'indelible_reader']) {
      await node.query(`SET ROLE ${role}`);
      for (const { name } of rows) {
        for (const sql of [`DELETE FROM ${name}`, `TRUNCATE ${name}`]) {
          await expect(node.query(sql)).rejects.toMatchObject({ code: '42501' });
        }
      }
      await node.query('RESET ROLE');
    }
    await node.end();
  }
  await expectLogIntact(service, id);
});

test('a flush makes one call for each tenant, and one commit on each node', async () => {
  const tenants = await Promise.all(Array.from({ length: 12 }, () => service.tenant()));
  for (const setting of ['citus.log_remote_commands = on', 'client_min_messages = log']) {
    await service.owner.query(`ALTER DATABASE ${database} SET ${setting}`);
  }
  // Its connections are new, so that they have these settings.
  const { app, db, close } = await serviceOn(service.servingUrl, service.clock);
  const sent: string[] = [];
  let flushes = 0;
  db.recording.on('acquire', () => flushes++);
  db.recording.on('connect', (client) => {
    client.on('notice', ({ message }) => {
      if (message?.startsWith('issuing ')) sent.push(message.slice('issuing '.length));
    });
  });
  const numbered = { ...nthEvent(0), source: { id: 'till', sequence: 1 } };
  const answers = await Promise.all(
    tenants.map(({ key }) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const call = { method: 'POST', url: '/api/audit-logs', headers } as const;
      return app.http.inject({ ...call, payload: JSON.stringify(numbered) });
    }),
  );
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(tenants.map(() => 201));
  await close();
  const calls = sent.filter((sql) => sql.includes('append_events('));
  expect(calls).toHaveLength(tenants.length);
  const commits = sent.filter((sql) => sql === 'COMMIT');
  expect(commits.length).toBeGreaterThan(0);
  expect(commits.length).toBeLessThanOrEqual(flushes);
  // Besides BEGIN, COMMIT and a savepoint, one lock of each head.
  const others = sent.length - calls.length;
  expect(others).toBeLessThanOrEqual(flushes * 4 + tenants.length * 2);
});
