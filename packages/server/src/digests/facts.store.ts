import { type EventFilter, only } from '@indelible/protocol';
import { allMatching, Params, rowsWith, type Visibility } from '../events/filter-sql.store.ts';
import { visibility } from '../events/store.ts';
import { publishedCheckpoint } from '../log/checkpoint.store.ts';
import type { TenantTx } from '../postgres/db.ts';
import type { Period } from './period.ts';

/** Visits of operators with the same address for the same reason; null: none declared. */
export interface VisitsForReason {
  email: string | null;
  reason: string | null;
  visits: number;
}

/** What a digest says about a log: events by their timestamps, as far as the plan shows. */
export interface LogFacts {
  /** The most frequent first. */
  visits: VisitsForReason[];
  /** Counted up to `countMax` + 1. */
  alerts: number;
  exports: number;
  entries: number;
  checkpoint: { size: number; signedAtMs: number } | null;
}

export const countMax = 10_000;
const reasonsMax = 1_000;

const alert: EventFilter = { action: only('raise'), resource: only('alert') };
const exported: EventFilter = { action: only('access'), resource: only('export') };

export async function logFacts(
  tx: TenantTx,
  { fromMs, toMs }: Period,
  nowMs: number,
): Promise<LogFacts | null> {
  const visible = await visibility(tx, nowMs);
  const log = await publishedCheckpoint(tx);
  if (visible === null || log === null) return null;
  const range = { from: fromMs, to: toMs };
  return {
    visits: await visitsIn(range, visible),
    alerts: await countOwn({ ...alert, ...range }, visible),
    exports: await countOwn({ ...exported, ...range }, visible),
    entries: log.size,
    checkpoint: log.checkpoint,
  };
}

/** Only what the service recorded: producers may record such events too. */
async function countOwn(filter: EventFilter, visible: Visibility): Promise<number> {
  const params = new Params();
  const conditions = allMatching(filter, visible, params);
  const rows = await rowsWith<{ count: number }>(visible.tx, params)`
    SELECT count(*) AS count FROM (SELECT FROM audit_events
      WHERE ${conditions.join(' AND ')} AND recorded_by_kind = 'service'
      LIMIT ${countMax + 1}) e`;
  return rows[0]?.count ?? 0;
}

/** The time of a UUIDv7, in ms. */
const idMs = `('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint`;

/** A visit ends with a pause of more than 30 minutes; the panel's page of visits says the same. */
async function visitsIn(
  range: { from: number; to: number },
  visible: Visibility,
): Promise<VisitsForReason[]> {
  const params = new Params();
  const filter = { crossTenant: only('true'), ...range };
  const rows = await rowsWith<VisitsForReason>(visible.tx, params)`
    SELECT actor_email AS email, reason,
      count(*) FILTER (WHERE pause_ms IS NULL OR pause_ms > 1800000) AS visits
    FROM (SELECT actor_email, reason, ${idMs} - lag(${idMs}) OVER (
        PARTITION BY actor_id, actor_email, reason, recorded_by_kind, recorded_by_id ORDER BY id) AS pause_ms
      FROM audit_events WHERE ${allMatching(filter, visible, params).join(' AND ')}) e
    GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT ${reasonsMax}`;
  return rows;
}
