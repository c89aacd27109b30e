import type { WriterTx } from '../postgres/index.ts';
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
export async function tenantsWithDigest(
  queries: Pick<WriterTx, 'query'>,
  nowMs: number,
): Promise<DigestReader[]> {
  const { rows } = await queries.query<DigestReader>({
    name: 'tenants-with-digest',
    text: `SELECT id AS "tenantId", digest AS frequency, time_zone AS "timeZone", digests_until AS "untilMs"
      FROM tenants JOIN log_heads ON tenant_id = id AND closed_at IS NULL
      WHERE digest <> 'none' AND (digests_until IS NULL OR digests_until <= $1) ORDER BY id`,
    values: [new Date(nowMs - 6 * 86_400_000)],
  });
  return rows;
}

/** The operator's weeks are those of UTC. */
export async function operatorReader(queries: Pick<WriterTx, 'query'>): Promise<DigestReader> {
  const { rows } = await queries.query<{ untilMs: number | null }>({
    name: 'operator-digest',
    text: 'SELECT digests_until AS "untilMs" FROM installation',
  });
  const untilMs = rows[0]?.untilMs ?? null;
  return { tenantId: null, frequency: 'weekly', timeZone: 'UTC', untilMs };
}

/** False if another process took the period first, or the setting has changed. */
export async function takeUntil(
  tx: WriterTx,
  { tenantId, frequency, untilMs }: DigestReader,
  toMs: number,
): Promise<boolean> {
  const bounds = [untilMs === null ? null : new Date(untilMs), new Date(toMs)];
  const { rowCount } = await tx.query(
    tenantId === null
      ? {
          name: 'take-operator-digest',
          text: 'UPDATE installation SET digests_until = $2 WHERE digests_until IS NOT DISTINCT FROM $1',
          values: bounds,
        }
      : {
          name: 'take-digest',
          text: `UPDATE tenants SET digests_until = $2
            WHERE digests_until IS NOT DISTINCT FROM $1 AND id = $3 AND digest = $4`,
          values: [...bounds, tenantId, frequency],
        },
  );
  return rowCount === 1;
}
