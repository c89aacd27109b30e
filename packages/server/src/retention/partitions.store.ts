import type { Queries, WriterTx } from '../postgres/db.ts';
import { isCluster } from '../postgres/engine.ts';
import { announcePartitions } from '../postgres/partitions.store.ts';
import { execute, hasRow, rowsOf } from '../postgres/sql.ts';
import { type Partition, partitionOf } from './schedule.ts';

/*
 * The owner role's statements on whole partitions. Names come from the catalogue and have one form.
 */

/**
 * The state of a partition's removal. `detach_pending`: its detachment was interrupted; new
 * statements do not see it. `detached`: a separate table with invisible rows.
 */
export type PartitionState = 'attached' | 'detach_pending' | 'detached';

export interface StoredPartition extends Partition {
  state: PartitionState;
}

export async function makePartitionsAhead(owner: Queries, nowMs: number, days: number) {
  await execute(owner)`SELECT make_partitions_ahead(${new Date(nowMs)}, ${days})`;
  await announcePartitions(owner);
}

/** Every partition, and every former one. */
export async function listPartitions(owner: Queries): Promise<StoredPartition[]> {
  const rows = await rowsOf<{ name: string; state: PartitionState }>(owner)`
    SELECT relname AS name, CASE WHEN inhrelid IS NULL THEN 'detached'
      WHEN inhdetachpending THEN 'detach_pending' ELSE 'attached' END AS state
    FROM pg_class LEFT JOIN pg_inherits ON inhrelid = pg_class.oid
    WHERE relnamespace = 'indelible'::regnamespace AND relkind = 'r'
      AND relname LIKE 'audit\\_events\\_%' ORDER BY relname`;
  return rows.flatMap(({ name, state }) => {
    const partition = partitionOf(name);
    return partition ? [{ ...partition, state }] : [];
  });
}

/** The tenants with events in it: one step in the primary key for each. */
export async function tenantsIn(owner: Queries, { name }: Partition): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const { rows } = await owner.query<{ id: string }>(
      `SELECT tenant_id AS id FROM ${name} WHERE $1::uuid IS NULL OR tenant_id > $1
       ORDER BY tenant_id LIMIT 1`,
      [found.at(-1)],
    );
    if (!rows[0]) return found;
    found.push(rows[0].id);
  }
}

/** Each tenant's number of events in it. */
export async function countByTenant(
  owner: Queries,
  { name }: Partition,
): Promise<Map<string, number>> {
  const { rows } = await owner.query<{ id: string; count: number }>(
    `SELECT tenant_id AS id, count(*) AS count FROM ${name} GROUP BY tenant_id`,
  );
  return new Map(rows.map(({ id, count }) => [id, count]));
}

/**
 * Transactions that need the partition: those that have it or its parent open, for which a
 * detachment waits, and before it is detached also those with a snapshot. Such a one may still see
 * in this partition events that have moved meanwhile, and open it only later. Uses only columns
 * visible to every login: only their own login sees when they began.
 */
export async function eventReaders(
  owner: Queries,
  { name, state }: StoredPartition,
): Promise<string[]> {
  const parent = state === 'attached' ? 'audit_events' : null;
  const rows = await rowsOf<{ id: string }>(owner)`
    SELECT DISTINCT virtualtransaction AS id FROM pg_locks
    WHERE granted AND pid IS DISTINCT FROM pg_backend_pid() AND CASE locktype
      WHEN 'relation' THEN relation IN (${name}::regclass, ${parent}::regclass)
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      WHEN 'virtualxid' THEN ${parent}::text IS NOT NULL AND pid IN (
        SELECT pid FROM pg_stat_activity WHERE datname = current_database()
          AND backend_xmin IS NOT NULL AND usesysid IS NOT NULL) END`;
  return rows.map(({ id }) => id);
}

/** Transactions that may have planned without a partition that was attached meanwhile. */
export async function openEvents(owner: Queries): Promise<string[]> {
  const rows = await rowsOf<{ id: string }>(owner)`
    SELECT virtualtransaction AS id FROM open_events()`;
  return rows.map(({ id }) => id);
}

/**
 * Hides the partition from new statements, then waits for those that still see it. If that exceeds
 * the lock timeout (55P03), it stays `detach_pending`. Cannot run in a transaction.
 */
export async function detachPartition(owner: Queries, { name }: Partition): Promise<void> {
  const how = (await isCluster(owner)) ? '' : 'CONCURRENTLY'; // Citus has no such detachment
  await owner.query(`ALTER TABLE audit_events DETACH PARTITION ${name} ${how}`);
}

/** Completes an interrupted detachment. */
export async function finishDetachment(owner: Queries, { name }: Partition): Promise<void> {
  await owner.query(`ALTER TABLE audit_events DETACH PARTITION ${name} FINALIZE`);
}

/** Whether it is detached, and cannot be attached until the transaction ends. */
export async function holdDetached(tx: WriterTx, { name }: Partition): Promise<boolean> {
  await execute(tx)`SELECT pg_advisory_xact_lock(hashtext('indelible.make_partition'))`;
  return hasRow(tx)`
    SELECT WHERE to_regclass(${name}) IS NOT NULL AND NOT partition_exists(${name})`;
}

const retiredPrefix = 'gone_';

/**
 * Renames a detached partition: after the commit its rows cannot come back, whatever is recorded or
 * changed; only its space remains to be freed. Takes a moment.
 */
export async function retirePartition(tx: WriterTx, { name }: Partition): Promise<void> {
  await tx.query(`ALTER TABLE ${name} RENAME TO ${retiredPrefix}${name}`);
}

/** Former partitions that still take disk space. */
export async function listRetired(owner: Queries): Promise<string[]> {
  const rows = await rowsOf<{ name: string }>(owner)`
    SELECT relname AS name FROM pg_class WHERE relnamespace = 'indelible'::regnamespace
      AND relkind = 'r' AND relname ~ ${`^${retiredPrefix}audit_events_[a-z0-9]+_[0-9]+$`}
    ORDER BY relname`;
  return rows.map(({ name }) => name);
}

/** The steps of dropping a table: its indexes, then itself. */
export async function stepsOfDropping(owner: Queries, table: string): Promise<string[]> {
  const rows = await rowsOf<{ step: string }>(owner)`
    SELECT CASE WHEN conname IS NULL THEN format('DROP INDEX %I', relname)
      ELSE format('ALTER TABLE %I DROP CONSTRAINT %I', ${table}::text, conname) END AS step
    FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
      LEFT JOIN pg_constraint ON conindid = indexrelid AND conrelid = indrelid
    WHERE indrelid = ${table}::regclass ORDER BY relname`;
  return [...rows.map(({ step }) => step), `DROP TABLE ${table}`];
}
