import type pg from 'pg';
import type { Queries } from '../postgres/db.ts';
import { rowsOf } from '../postgres/sql.ts';
import { smallEntries } from '../words/word-block.ts';

/* What a login can read about its database and itself in the catalogue. */

const serviceRoles = ['indelible_owner', 'indelible_writer', 'indelible_reader'];

interface LoginFacts {
  /** The number of `server_version_num`: 180000 is 18.0. */
  versionNumber: number;
  login: string;
  superuser: boolean;
  /** On a standby, or if an administrator or a full disk has set it. */
  readOnly: boolean;
}

export function readLogin(client: pg.Client): Promise<LoginFacts> {
  return factsOf<LoginFacts>(
    client,
    `SELECT current_setting('server_version_num')::int AS "versionNumber", session_user AS login,
       (SELECT rolsuper FROM pg_roles WHERE rolname = session_user) AS superuser,
       current_setting('transaction_read_only') = 'on' AS "readOnly"`,
  );
}

async function factsOf<F extends pg.QueryResultRow>(
  client: Pick<pg.Client, 'query'>,
  text: string,
): Promise<F> {
  const [facts] = (await client.query<F>(text)).rows;
  if (facts === undefined) throw new Error('the database says nothing about itself');
  return facts;
}

/** The existing roles of the service, and whether the login is a member of each. */
export async function readMemberships(client: pg.Client): Promise<Map<string, boolean>> {
  const { rows } = await client.query<{ role: string; member: boolean }>(
    `SELECT rolname AS role, pg_has_role(session_user, oid, 'MEMBER') AS member
       FROM pg_roles WHERE rolname = ANY ($1)`,
    [serviceRoles],
  );
  return new Map(rows.map(({ role, member }) => [role, member]));
}

interface TooMuch {
  role: string;
  privilege: string;
  table: string;
}

/**
 * What serving roles could do to recorded events or the log, partitions included; must be empty.
 */
export async function findDangerousPrivileges(client: pg.Client): Promise<TooMuch[]> {
  const { rows } = await client.query<TooMuch>(
    `SELECT role, privilege, relname AS table
       FROM unnest('{indelible_writer,indelible_reader}'::text[]) role,
            unnest('{UPDATE,DELETE,TRUNCATE}'::text[]) privilege,
            pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE nspname = 'indelible' AND relkind IN ('r', 'p') AND relname ~ '^(audit_events|log_)'
        AND (has_table_privilege(role, pg_class.oid, privilege)
          OR privilege = 'UPDATE' AND has_any_column_privilege(role, pg_class.oid, 'UPDATE'))
      ORDER BY relname, role, privilege`,
  );
  return rows;
}

export async function readPartitionNames(client: pg.Client): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT child.relname AS name
       FROM pg_inherits
       JOIN pg_class child ON child.oid = inhrelid
       JOIN pg_class parent ON parent.oid = inhparent
       JOIN pg_namespace ON pg_namespace.oid = parent.relnamespace
      WHERE nspname = 'indelible' AND parent.relname = 'audit_events'`,
  );
  return new Set(rows.map(({ name }) => name));
}

/** Locks that a statement over all partitions takes, and the room for those of all connections. */
export interface LockFacts {
  /** The partitions of events with their indexes. */
  relations: number;
  perTransaction: number;
  connections: number;
}

export function readLocks(client: pg.Client): Promise<LockFacts> {
  return factsOf<LockFacts>(
    client,
    `SELECT current_setting('max_locks_per_transaction')::int AS "perTransaction",
       current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int
         AS connections,
       (SELECT count(indexrelid)::int + count(DISTINCT tree.relid)::int
          FROM pg_partition_tree('indelible.audit_events') tree
          LEFT JOIN pg_index ON indrelid = tree.relid) AS relations`,
  );
}

export interface DurabilityFacts {
  fsync: string;
  fullPageWrites: string;
  synchronousStandbys: string;
  /** Replicas that are streaming now. */
  replicas: number;
}

export function readDurability(client: Pick<pg.Client, 'query'>): Promise<DurabilityFacts> {
  return factsOf<DurabilityFacts>(
    client,
    `SELECT current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS "fullPageWrites",
       current_setting('synchronous_standby_names') AS "synchronousStandbys",
       (SELECT count(*)::int FROM pg_stat_replication) AS replicas`,
  );
}

/** Pairs of nodes of a cluster, as `one:5432 to other:5432`, that do not reach each other. */
export async function brokenPaths(client: Pick<pg.Client, 'query'>): Promise<string[]> {
  const { rows } = await client.query<{ path: string }>(
    `SELECT format('%s:%s to %s:%s', from_nodename, from_nodeport, to_nodename, to_nodeport) AS path
     FROM citus_check_cluster_node_health() WHERE result IS NOT TRUE`,
  );
  return rows.map(({ path }) => path);
}

/**
 * Where webhooks, alerts and words are behind a log, those furthest behind first. Words come in
 * blocks: nearly every log has entries behind its last full one.
 */
export async function readersBehind(writer: Queries) {
  return rowsOf<{ tenantId: string; next: number; size: number }>(writer)`
    SELECT tenant_id AS "tenantId", next, size FROM (
      SELECT tenant_id, next_sequence AS next FROM webhooks WHERE status = 'active'
      UNION SELECT tenant_id, next_sequence FROM alert_cursors
      UNION SELECT tenant_id, coalesce(w.size, 0) FROM log_heads h LEFT JOIN word_heads w
        USING (tenant_id) WHERE h.size - h.size % ${smallEntries} > coalesce(w.size, 0)
    ) readers JOIN log_heads USING (tenant_id)
    WHERE next < size ORDER BY size - next DESC LIMIT 100`;
}
