import type { Queries, WriterTx } from '../postgres/db.ts';
import { dateOrNull, firstRow, hasRow, rowsOf, sql } from '../postgres/sql.ts';
import type { Frequency } from './period.ts';

/* Who gets digests, and until when. Statements of the job: they span tenants. */

/** A tenant, or (null) the operator. */
export interface DigestReader {
  tenantId: string | null;
  frequency: Frequency;
  timeZone: string;
  /** The end of the last period that was taken; null before the first. */
  untilMs: number | null;
}

/** Tenants whose period may be over; a week lasts six days at least, wherever the tenant moves. */
export async function tenantsWithDigest(queries: Queries, nowMs: number): Promise<DigestReader[]> {
  return rowsOf<DigestReader>(queries)`
    SELECT id AS "tenantId", digest AS frequency, time_zone AS "timeZone",
      digests_until AS "untilMs"
    FROM tenants JOIN log_heads ON tenant_id = id AND closed_at IS NULL
    WHERE digest <> 'none'
      AND (digests_until IS NULL OR digests_until <= ${new Date(nowMs - 6 * 86_400_000)})
    ORDER BY id`;
}

/** The operator's weeks are those of UTC. */
export async function operatorReader(queries: Queries): Promise<DigestReader> {
  const row = await firstRow<{ untilMs: number | null }>(queries)`
    SELECT digests_until AS "untilMs" FROM installation`;
  const untilMs = row?.untilMs ?? null;
  return { tenantId: null, frequency: 'weekly', timeZone: 'UTC', untilMs };
}

/** False if another process took the period first, or the setting has changed. */
export async function takeUntil(
  tx: WriterTx,
  { tenantId, frequency, untilMs }: DigestReader,
  toMs: number,
): Promise<boolean> {
  const changed = sql`digests_until = ${new Date(toMs)}
    WHERE digests_until IS NOT DISTINCT FROM ${dateOrNull(untilMs)}`;
  return tenantId === null
    ? hasRow(tx)`UPDATE installation SET ${changed}`
    : hasRow(tx)`UPDATE tenants SET ${changed} AND id = ${tenantId} AND digest = ${frequency}`;
}
