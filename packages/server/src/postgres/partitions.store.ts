import type { Queries } from './db.ts';

/* Partitions of events: made, and told to the sessions that are planning meanwhile. */

/**
 * Makes the partitions of these times; existing ones stay. In its own transaction, because they
 * must exist before the insert.
 */
export async function makePartitions(
  tx: Queries,
  wanted: readonly { retentionClass: number; timeMs: number }[],
) {
  for (const { retentionClass, timeMs } of wanted) {
    await tx.query('SELECT make_partition($1::smallint, $2)', [retentionClass, new Date(timeMs)]);
  }
}

/**
 * To be called after the commit that attaches partitions, and before rows are written to them: a
 * session that is planning meanwhile would never read them. False if others are attaching: the next
 * caller tells, which a retention run is each hour.
 */
export async function announcePartitions(tx: Queries): Promise<boolean> {
  const { rows } = await tx.query<{ done: boolean }>('SELECT announce_partitions() AS done');
  return rows[0]?.done === true;
}

/** Makes or attaches the partition of this time. */
export async function ensurePartition(
  owner: Queries,
  retentionClass: number,
  timeMs: number,
): Promise<void> {
  await owner.query('SELECT place_partition($1::smallint, $2)', [retentionClass, new Date(timeMs)]);
}
