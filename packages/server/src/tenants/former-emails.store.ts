import { textArray, type WriterTx } from '../postgres/index.ts';

/** Stores removed addresses, which still get notices until then. */
export async function keepFormerEmails(
  tx: WriterTx,
  tenantId: string,
  emails: readonly string[],
  untilMs: number,
): Promise<void> {
  await tx.query({
    name: 'keep-former-emails',
    text: `INSERT INTO former_emails (tenant_id, email, until) SELECT $1, email, $3 FROM unnest($2::text[]) email
      ON CONFLICT (tenant_id, email) DO UPDATE SET until = excluded.until`,
    values: [tenantId, textArray(emails), new Date(untilMs)],
  });
}

/** The removed addresses that still get notices; deletes those whose time is over. */
export async function formerEmails(
  tx: WriterTx,
  tenantId: string,
  nowMs: number,
): Promise<string[]> {
  await tx.query({
    name: 'forget-former-emails',
    text: 'DELETE FROM former_emails WHERE tenant_id = $1 AND until <= $2',
    values: [tenantId, new Date(nowMs)],
  });
  const { rows } = await tx.query<{ email: string }>({
    name: 'former-emails',
    text: 'SELECT email FROM former_emails WHERE tenant_id = $1 ORDER BY email',
    values: [tenantId],
  });
  return rows.map(({ email }) => email);
}
