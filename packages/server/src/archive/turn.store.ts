import type { OwnerSession } from '../postgres/db.ts';

/** True when no other process archives; the turn ends with the session. */
export async function takeTurn(owner: OwnerSession): Promise<boolean> {
  const { rows } = await owner.query<{ locked: boolean }>(
    `SELECT pg_try_advisory_lock(hashtext('indelible.archive')) AS locked`,
  );
  return rows[0]?.locked === true;
}
