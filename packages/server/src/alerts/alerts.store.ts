import type { WriterTx } from '../postgres/index.ts';

/** The id of the record that acknowledges this alert, or null. */
export async function acknowledgedAt(
  tx: WriterTx,
  tenantId: string,
  alertId: string,
): Promise<string | null> {
  const { rows } = await tx.query<{ id: string }>({
    name: 'acknowledged-alert',
    text: `SELECT id FROM audit_events WHERE tenant_id = $1 AND correlation_id = $2
      AND action = 'acknowledge' AND resource_type = 'alert' AND recorded_by_kind = 'service'
      ORDER BY id LIMIT 1`,
    values: [tenantId, alertId],
  });
  return rows[0]?.id ?? null;
}
