import type { WriterTx } from '../postgres/index.ts';
import { type Partition, partitionOf } from './schedule.ts';
import type { Owner } from './terms.store.ts';

/* Statements of the owner role on whole partitions. Names come from the catalogue and have one
   form. */

/**
 * How far the removal of a partition has come. `detach_pending`: its detachment was interrupted;
 * new statements no longer see it. `detached`: a table of its own, whose rows nobody sees.
 */
export type PartitionState = 'attached' | 'detach_pending' | 'detached';

export interface StoredPartition extends Partition {
  state: PartitionState;
}

export async function makePartitionsAhead(
  owner: Owner,
  nowMs: number,
  days: number,
): Promise<void> {
  await owner.query('SELECT make_partitions_ahead($1, $2)', [new Date(nowMs), days]);
}

/** Every partition there is, and what was one. */
export async function listPartitions(owner: Owner): Promise<StoredPartition[]> {
  const { rows } = await owner.query<{ name: string; state: PartitionState }>(
    `SELECT relname AS name, CASE WHEN inhrelid IS NULL THEN 'detached'
        WHEN inhdetachpending THEN 'detach_pending' ELSE 'attached' END AS state
     FROM pg_class LEFT JOIN pg_inherits ON inhrelid = pg_class.oid
     WHERE relnamespace = 'indelible'::regnamespace AND relkind = 'r'
       AND relname LIKE 'audit\\_events\\_%' ORDER BY relname`,
  );
  return rows.flatMap(({ name, state }) => {
    const partition = partitionOf(name);
    return partition ? [{ ...partition, state }] : [];
  });
}

/** Whose events lie in it: one step in the primary key for each tenant. */
export async function tenantsIn(owner: Owner, { name }: Partition): Promise<string[]> {
  const { rows } = await owner.query<{ id: string }>(
    `WITH RECURSIVE found AS (
       (SELECT tenant_id AS id FROM ${name} ORDER BY tenant_id LIMIT 1)
       UNION ALL
       SELECT (SELECT tenant_id FROM ${name} WHERE tenant_id > found.id ORDER BY tenant_id LIMIT 1)
       FROM found WHERE found.id IS NOT NULL
     ) SELECT id FROM found WHERE id IS NOT NULL`,
  );
  return rows.map(({ id }) => id);
}

/** How many events of each tenant lie in it. */
export async function countByTenant(
  owner: Owner,
  { name }: Partition,
): Promise<Map<string, number>> {
  const { rows } = await owner.query<{ id: string; count: number }>(
    `SELECT tenant_id AS id, count(*) AS count FROM ${name} GROUP BY tenant_id`,
  );
  return new Map(rows.map(({ id, count }) => [id, count]));
}

/**
 * Transactions that have the partition open, or the table that it
 * is attached to: those a detachment waits for. From what everybody
 * may see: when they began is shown to their own login alone.
 */
export async function eventReaders(
  owner: Owner,
  { name, state }: StoredPartition,
): Promise<string[]> {
  const { rows } = await owner.query<{ id: string }>(
    `SELECT DISTINCT virtualtransaction AS id FROM pg_locks
     WHERE locktype = 'relation' AND granted
       AND relation IN ($1::regclass, CASE $2 WHEN 'attached' THEN 'audit_events'::regclass END)
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND pid IS DISTINCT FROM pg_backend_pid()`,
    [name, state],
  );
  return rows.map(({ id }) => id);
}

/**
 * Takes the partition out of sight of new statements, then waits for those that can still see it.
 * When that takes longer than a lock may (55P03), it stays `detach_pending`. Not possible in a
 * transaction.
 */
export async function detachPartition(owner: Owner, { name }: Partition): Promise<void> {
  await owner.query(`ALTER TABLE audit_events DETACH PARTITION ${name} CONCURRENTLY`);
}

/** Completes a detachment that was interrupted. */
export async function finishDetachment(owner: Owner, { name }: Partition): Promise<void> {
  await owner.query(`ALTER TABLE audit_events DETACH PARTITION ${name} FINALIZE`);
}

/**
 * Whether it is still detached, and stays so until the transaction ends: nobody attaches it now.
 */
export async function holdDetached(tx: WriterTx, { name }: Partition): Promise<boolean> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtext('indelible.make_partition'))`);
  const { rows } = await tx.query<{ detached: boolean }>(
    `SELECT to_regclass($1) IS NOT NULL AND NOT partition_exists($1) AS detached`,
    [name],
  );
  return rows[0]?.detached === true;
}

const retiredPrefix = 'gone_';

/**
 * Takes its name from a detached partition: from the commit on nothing in it can come back, whoever
 * records or changes a plan, and what is left to do is to give its space back. Takes a moment.
 */
export async function retirePartition(tx: WriterTx, { name }: Partition): Promise<void> {
  await tx.query(`ALTER TABLE ${name} RENAME TO ${retiredPrefix}${name}`);
}

/** Tables that were partitions, and still take their space. */
export async function listRetired(owner: Owner): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'indelible'::regnamespace
       AND relkind = 'r' AND relname ~ '^${retiredPrefix}audit_events_[a-z0-9]+_[0-9]+$' ORDER BY relname`,
  );
  return rows.map(({ name }) => name);
}

/** What each step of dropping a table takes away: its indexes, then itself. */
export async function stepsOfDropping(owner: Owner, table: string): Promise<string[]> {
  const { rows } = await owner.query<{ step: string }>(
    `SELECT CASE WHEN conname IS NULL THEN format('DROP INDEX %I', relname)
        ELSE format('ALTER TABLE %I DROP CONSTRAINT %I', $1::text, conname) END AS step
     FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
       LEFT JOIN pg_constraint ON conindid = indexrelid AND conrelid = indrelid
     WHERE indrelid = $1::regclass ORDER BY relname`,
    [table],
  );
  return [...rows.map(({ step }) => step), `DROP TABLE ${table}`];
}
