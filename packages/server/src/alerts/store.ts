import type { TenantTx, WriterTx } from '../postgres/index.ts';

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
  /** Of an enabled rule of kind silence: when it looks next. */
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

const columns = `tenant_id AS "tenantId", id, built_in AS "builtIn", settings, version, enabled,
  from_sequence AS "fromSequence", muted_until AS "mutedUntilMs", silent_at AS "silentAtMs", untold,
  tell_at AS "tellAtMs", told_at AS "toldAtMs", dropped, created_at AS "createdAtMs", updated_at AS "updatedAtMs"`;

export async function listRules(tx: TenantTx): Promise<RuleRow[]> {
  const { rows } = await tx.query<RuleRow>({
    name: 'list-alert-rules',
    text: `SELECT ${columns} FROM alert_rules WHERE tenant_id = $1 ORDER BY id`,
    values: [tx.tenantId],
  });
  return rows;
}

/** All rules of a tenant, whose log's head the caller has locked. */
export async function rulesToChange(tx: WriterTx, tenantId: string): Promise<RuleRow[]> {
  const { rows } = await tx.query<RuleRow>({
    name: 'alert-rules-to-change',
    text: `SELECT ${columns} FROM alert_rules WHERE tenant_id = $1 ORDER BY id`,
    values: [tenantId],
  });
  return rows;
}

const time = (ms: number | null) => (ms === null ? null : new Date(ms));

/** Stores all of it that may change. */
export async function saveRule(tx: WriterTx, r: RuleRow): Promise<void> {
  await tx.query({
    name: 'save-alert-rule',
    text: `INSERT INTO alert_rules (tenant_id, id, built_in, settings, version, enabled, from_sequence,
        muted_until, silent_at, untold, tell_at, told_at, created_at, updated_at, dropped)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
      ON CONFLICT (tenant_id, id) DO UPDATE SET settings = $4, version = $5, enabled = $6,
        from_sequence = $7, muted_until = $8, silent_at = $9, untold = $10, tell_at = $11,
        told_at = $12, updated_at = $14, dropped = $15`,
    values: [
      ...[r.tenantId, r.id, r.builtIn, r.settings, r.version, r.enabled, r.fromSequence],
      ...[time(r.mutedUntilMs), time(r.silentAtMs), r.untold, time(r.tellAtMs)],
      ...[time(r.toldAtMs), time(r.createdAtMs), time(r.updatedAtMs), r.dropped],
    ],
  });
}

export async function deleteRule(tx: WriterTx, { tenantId, id }: RuleKey): Promise<void> {
  await tx.query({
    name: 'delete-alert-rule',
    text: 'DELETE FROM alert_rules WHERE tenant_id = $1 AND id = $2',
    values: [tenantId, id],
  });
}

/** The sequence of the next event of a log whose head is locked. */
export async function endOfLog(tx: WriterTx, tenantId: string): Promise<number> {
  const { rows } = await tx.query<{ size: number }>({
    name: 'end-of-log',
    text: 'SELECT size FROM log_heads WHERE tenant_id = $1',
    values: [tenantId],
  });
  return rows[0]?.size ?? 0;
}
