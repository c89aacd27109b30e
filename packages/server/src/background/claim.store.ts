import type pg from 'pg';
import { sql } from '../postgres/index.ts';

/*
 * Claiming leased rows of any tenant: candidates first, without a lock, then each by its key, if it
 * is still due. A statement that locks rows of several nodes does not exist.
 */

type Session = Pick<pg.ClientBase, 'query'>;

/** If other processes claim all of these first, this one finds more a second later. */
export const candidatesMax = 8;

/** The first of the due rows that `claim` still finds due; null while recording is stopped. */
export async function firstClaimed<Due extends pg.QueryResultRow, Row extends pg.QueryResultRow>(
  session: Session,
  due: Promise<pg.QueryResult<Due>>,
  claim: (due: Due) => pg.QueryConfig,
): Promise<Row | null> {
  const halted = session.query<{ halted: string | null }>(sql`SELECT halted FROM log_rounds`);
  const [candidates, rounds] = await Promise.all([due, halted]);
  if (rounds.rows[0]?.halted != null) return null;
  for (const candidate of candidates.rows) {
    const { rows } = await session.query<Row>(claim(candidate));
    if (rows[0]) return rows[0];
  }
  return null;
}
