import { execute, rowsOf, textArray, type WriterTx } from '../postgres/index.ts';

/** Stores removed addresses, which still get notices until then. */
export async function keepFormerEmails(
  tx: WriterTx,
  tenantId: string,
  emails: readonly string[],
  untilMs: number,
): Promise<void> {
  await execute(tx)`
    INSERT INTO former_emails (tenant_id, email, until) SELECT ${tenantId}, email,
      ${new Date(untilMs)} FROM unnest(${textArray(emails)}::text[]) email
    ON CONFLICT (tenant_id, email) DO UPDATE SET until = excluded.until`;
}

/** The removed addresses that still get notices; deletes those whose time is over. */
export async function formerEmails(
  tx: WriterTx,
  tenantId: string,
  nowMs: number,
): Promise<string[]> {
  await execute(tx)`DELETE FROM former_emails
    WHERE tenant_id = ${tenantId} AND until <= ${new Date(nowMs)}`;
  const rows = await rowsOf<{ email: string }>(tx)`SELECT email FROM former_emails
    WHERE tenant_id = ${tenantId} ORDER BY email`;
  return rows.map(({ email }) => email);
}
