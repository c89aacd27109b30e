import { firstRow, type WriterTx } from '../postgres/index.ts';

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
