import type pg from 'pg';
import { firstRow } from '../postgres/sql.ts';

/*
 * Claiming leased rows of any tenant: candidates first, without a lock, then each by its key, if it
 * is still due. A statement that locks rows of several nodes does not exist.
 */

type Session = Pick<pg.ClientBase, 'query'>;

/** If other processes claim all of these first, this one finds more a second later. */
export const candidatesMax = 8;

/** The first of the due rows that `claim` still finds due; null while recording is stopped. */
export async function firstClaimed<Due, Row>(
  session: Session,
  due: Promise<readonly Due[]>,
  claim: (due: Due) => Promise<Row | null>,
): Promise<Row | null> {
  const halted = firstRow<{ halted: string | null }>(session)`SELECT halted FROM log_rounds`;
  const [candidates, round] = await Promise.all([due, halted]);
  if (round?.halted != null) return null;
  for (const candidate of candidates) {
    const claimed = await claim(candidate);
    if (claimed) return claimed;
  }
  return null;
}
