import type { TenantTx, WriterTx } from '../postgres/db.ts';
import { dateOrNull, execute, firstRow, rowsOf, sql } from '../postgres/sql.ts';

export interface RuleKey {
  tenantId: string;
  id: string;
}

/** A stored rule; `settings` is JSON text. */
export interface RuleRow extends RuleKey {
  builtIn: string | null;
  settings: string;
  version: number;
  enabled: boolean;
  fromSequence: number;
  mutedUntilMs: number | null;
  /** When an enabled rule of kind silence looks next. */
  silentAtMs: number | null;
  /** Alerts (UUIDs of their events) that no message has told of. */
  untold: string[];
  tellAtMs: number | null;
  toldAtMs: number | null;
  /** Findings above the limit of alerts in an hour, since the rule began. */
  dropped: number;
  createdAtMs: number;
  updatedAtMs: number;
}

const columns = sql`tenant_id AS "tenantId", id, built_in AS "builtIn", settings, version, enabled,
  from_sequence AS "fromSequence", muted_until AS "mutedUntilMs", silent_at AS "silentAtMs", untold,
  tell_at AS "tellAtMs", told_at AS "toldAtMs", dropped, created_at AS "createdAtMs", updated_at AS "updatedAtMs"`;

/** To change them, the caller must have locked the head of the log. */
export async function listRules(tx: TenantTx): Promise<RuleRow[]> {
  return rowsOf<RuleRow>(tx)`SELECT ${columns} FROM alert_rules
    WHERE tenant_id = ${tx.tenantId} ORDER BY id`;
}

/** Stores all of it that may change. */
export async function saveRule(tx: WriterTx, r: RuleRow): Promise<void> {
  await execute(tx)`
    INSERT INTO alert_rules (tenant_id, id, built_in, settings, version, enabled, from_sequence,
      muted_until, silent_at, untold, tell_at, told_at, created_at, updated_at, dropped)
    VALUES (${r.tenantId}, ${r.id}, ${r.builtIn}, ${r.settings}, ${r.version}, ${r.enabled},
      ${r.fromSequence}, ${dateOrNull(r.mutedUntilMs)}, ${dateOrNull(r.silentAtMs)}, ${r.untold},
      ${dateOrNull(r.tellAtMs)}, ${dateOrNull(r.toldAtMs)}, ${new Date(r.createdAtMs)},
      ${new Date(r.updatedAtMs)}, ${r.dropped})
    ON CONFLICT (tenant_id, id) DO UPDATE SET settings = excluded.settings,
      version = excluded.version, enabled = excluded.enabled,
      from_sequence = excluded.from_sequence, muted_until = excluded.muted_until,
      silent_at = excluded.silent_at, untold = excluded.untold, tell_at = excluded.tell_at,
      told_at = excluded.told_at, updated_at = excluded.updated_at, dropped = excluded.dropped`;
}

export async function deleteRule(tx: WriterTx, { tenantId, id }: RuleKey): Promise<void> {
  await execute(tx)`DELETE FROM alert_rules WHERE tenant_id = ${tenantId} AND id = ${id}`;
}

/** The id of the record that acknowledges this alert, or null. */
export async function acknowledgedAt(
  tx: WriterTx,
  tenantId: string,
  alertId: string,
): Promise<string | null> {
  const row = await firstRow<{ id: string }>(tx)`SELECT id FROM audit_events
    WHERE tenant_id = ${tenantId} AND correlation_id = ${alertId} AND action = 'acknowledge'
      AND resource_type = 'alert' AND recorded_by_kind = 'service' ORDER BY id LIMIT 1`;
  return row?.id ?? null;
}
