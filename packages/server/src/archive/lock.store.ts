import pg from 'pg';

/**
 * Runs `work` while no other process archives; null when one does. The lock belongs to a connection of
 * its own, which idles meanwhile: what is uploaded takes longer than a transaction may.
 */
export async function withArchiveLock<T>(
  ownerUrl: string,
  work: () => Promise<T>,
): Promise<T | null> {
  const client = new pg.Client({ connectionString: ownerUrl, keepAlive: true });
  client.on('error', () => {}); // a lost lock costs nothing: whoever comes second meets the objects
  await client.connect();
  try {
    const { rows } = await client.query<{ locked: boolean }>(
      `SELECT pg_try_advisory_lock(hashtext('indelible.archive')) AS locked`,
    );
    return rows[0]?.locked === true ? await work() : null;
  } finally {
    await client.end().catch(() => {});
  }
}
