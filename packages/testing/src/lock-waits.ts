import type pg from 'pg';
import { clusterNodes } from './cluster.ts';

/** How many statements on the database of `owner` wait for a lock, on any node of a cluster. */
export async function lockWaits(owner: pg.Client): Promise<number> {
  const activity = clusterNodes().length > 0 ? 'citus_stat_activity' : 'pg_stat_activity';
  await owner.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await owner.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${activity}
     WHERE datname = current_database() AND state = 'active' AND wait_event_type = 'Lock'`,
  );
  return rows[0]?.count ?? 0;
}
