import type pg from 'pg';

/*
 * The differences on the coordinator of a cluster, where Citus shards PostgreSQL by tenant:
 * functions that write to logs are called for each tenant alone, and run on the node of that
 * tenant.
 */

const onCluster = new WeakSet<pg.ClientBase>();

/**
 * A commit is on disk before it is answered, whatever server, database, role or URL say: 201 means
 * durable. `remote_apply`, which waits for more, stays. Set in the session or the transaction, so
 * that a configuration reload changes nothing.
 */
const durably = (isLocal: boolean) =>
  `set_config('synchronous_commit', CASE current_setting('synchronous_commit')
     WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, ${isLocal})`;

/**
 * With 150 partitions planning takes ten times as long as reading; only Citus, which must know the
 * tenant to find its node, plans every call. Citus hands on SET LOCAL, and so row-level security.
 * With one connection to each node a flush is one transaction there, however long its reads take.
 *
 * Throws if the connection lacks its role, which a pooler may have dropped: it must not serve.
 */
export async function prepareSession(client: pg.ClientBase, role: string): Promise<void> {
  const { rows } = await client.query<{ role: string; cluster: boolean }>(
    `SELECT current_user AS role, e.cluster,
       set_config('plan_cache_mode', 'force_' || CASE WHEN e.cluster THEN 'custom' ELSE 'generic' END || '_plan', false),
       set_config('citus.propagate_set_commands', 'local', false),
       set_config('citus.max_adaptive_executor_pool_size', '1', false), ${durably(false)}
     FROM (SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS cluster) AS e`,
  );
  if (rows[0]?.role !== role) {
    const sentence = `a connection has no role ${role}: name PostgreSQL itself in DATABASE_URL, and a pooler in DATABASE_POOLER_URL`;
    throw new Error(sentence);
  }
  if (rows[0].cluster) onCluster.add(client);
}

/**
 * For a connection whose every transaction may get another session: its transactions begin with
 * these settings. Statements lose their names, because another session does not know them. A
 * statement without a name is planned each time, for its values.
 */
export async function prepareTransactions(
  client: pg.ClientBase,
  settings: Record<string, string>,
): Promise<void> {
  if (await isCluster(client)) onCluster.add(client);
  const further = {
    plan_cache_mode: 'force_custom_plan',
    'citus.propagate_set_commands': 'local',
  };
  const set = Object.entries({ ...settings, ...further }).map(
    ([name, value]) => `set_config('${name}', '${value}', true)`,
  );
  const settle = `SELECT ${[...set, durably(true)].join(', ')}`;
  const send = client.query.bind(client);
  client.query = ((query: string | pg.QueryConfig, values?: unknown[]) => {
    const asked = typeof query === 'string' ? { text: query, ...(values && { values }) } : query;
    const { name: _, ...unnamed } = asked;
    const begins = unnamed.text.startsWith('BEGIN');
    return send(begins ? { text: `${unnamed.text}; ${settle}` } : unnamed);
  }) as typeof client.query;
}

export async function isCluster(session: Pick<pg.ClientBase, 'query'>): Promise<boolean> {
  const { rows } = await session.query<{ cluster: boolean }>(
    "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS cluster",
  );
  return rows[0]?.cluster === true;
}

/** The most groups of one flush; nodes beyond it share groups. */
export const nodeGroupsMax = 16;
const placesLastMs = 60_000;

/**
 * Groups items by the node of their tenant. A node that is down fails its own tenants only, and a
 * group is one commit. One group on PostgreSQL. A tenant that moves is in the wrong group for up to
 * a minute, which is still correct.
 */
export function createNodeGroups(db: Pick<pg.Pool, 'query'>) {
  let cluster: boolean | undefined;
  let askedMs = 0;
  const places = new Map<string, number>();
  return async <Item>(
    items: readonly Item[],
    tenantOf: (item: Item) => string,
    nowMs: number,
  ): Promise<Item[][]> => {
    cluster ??= await isCluster(db);
    if (!cluster) return [[...items]];
    if (nowMs > askedMs + placesLastMs) places.clear();
    const unknown = new Set(items.map(tenantOf).filter((id) => !places.has(id)));
    if (unknown.size > 0) {
      if (places.size === 0) askedMs = nowMs;
      const { rows } = await db.query<{ id: string; place: number }>(
        `SELECT id, groupid % ${nodeGroupsMax} AS place FROM unnest($1::uuid[]) AS id JOIN pg_dist_placement
           ON shardid = get_shard_id_for_distribution_column('indelible.log_heads', id)`,
        [[...unknown]],
      );
      for (const { id, place } of rows) places.set(id, place);
    }
    return [...Map.groupBy(items, (item) => places.get(tenantOf(item)) ?? 0).values()];
  };
}

/**
 * Whether Citus says that a node went away, which it does with the code of an internal error.
 * Between statements it hands on what the connection to the node says; a node's own errors use
 * other words.
 */
export function isNodeLost({ message, ...error }: Error & { code?: unknown; where?: unknown }) {
  if (error.code !== 'XX000') return false;
  const isOfConnection = /connection|server|socket|SSL/.test(message);
  const isOfNode = String(error.where).includes('while executing command on');
  return (isOfConnection && isOfNode) || commitFaults.test(message);
}

const commitFaults =
  /could not commit transaction for shard|failure on connection marked as essential|failed to prepare transaction/;

/** Whether a session of a pool is one of a cluster. */
export const isSharded = (session: pg.ClientBase): boolean => onCluster.has(session);

/** One plan for all calls of the transaction's statements, except on a cluster. */
export async function planOnce(tx: Pick<pg.ClientBase, 'query'>): Promise<void> {
  if (!(await isCluster(tx))) await tx.query('SET LOCAL plan_cache_mode = force_generic_plan');
}

/**
 * Calls a function that takes a tenant first: once for all `items`, or for those of each tenant,
 * in order of tenants, so that locks are taken in one order. The calls travel together.
 */
export async function callForTenants<Item, Row extends pg.QueryResultRow>(
  tx: pg.ClientBase,
  items: readonly Item[],
  tenantOf: (item: Item) => string,
  call: (home: string, items: readonly Item[]) => pg.QueryConfig,
): Promise<Row[]> {
  const groups = isSharded(tx)
    ? [...Map.groupBy(items, tenantOf).entries()].sort(([one], [other]) => (one < other ? -1 : 1))
    : items.slice(0, 1).map((first) => [tenantOf(first), items] as const);
  const answers = await Promise.all(groups.map(([home, part]) => tx.query<Row>(call(home, part))));
  return answers.flatMap(({ rows }) => rows);
}
