import { lateClass } from '@indelible/protocol';
import { classesOf } from '../log/store.ts';
import type { WriterTx } from '../postgres/db.ts';
import { execute, firstRow, hasRow, rowsOf, sql } from '../postgres/sql.ts';

/* Statements of the owner role: no serving role may run them. */

/** Where a log stands. */
interface ColdState {
  size: number;
  /** Entries whose words are indexed. */
  indexed: number;
  /** Entries in verified parts, from the first of the log. */
  verified: number;
  coldBefore: string | null;
}

export async function coldState(tx: WriterTx, tenantId: string): Promise<ColdState | null> {
  return firstRow<ColdState>(tx)`
    SELECT h.size, coalesce(w.size, 0) AS indexed, t.cold_before AS "coldBefore",
      coalesce((SELECT max(last_sequence) + 1 FROM cold_parts WHERE tenant_id = ${tenantId}), 0)
        AS verified
    FROM log_heads h JOIN tenants t ON t.id = h.tenant_id
      LEFT JOIN word_heads w ON w.tenant_id = h.tenant_id
    WHERE h.tenant_id = ${tenantId}`;
}

/** The archived part that begins at this sequence, or null. */
export async function partAt(
  tx: WriterTx,
  tenantId: string,
  first: number,
): Promise<{ stem: string } | null> {
  return firstRow<{ stem: string }>(tx)`SELECT stem FROM archive_segments
    WHERE tenant_id = ${tenantId} AND first_sequence = ${first}`;
}

/** The files that readers use of a part, as JSON; null if it is not read. */
export async function coldFiles(
  tx: WriterTx,
  tenantId: string,
  first: number,
): Promise<string | null> {
  const row = await firstRow<{ files: string }>(tx)`SELECT files FROM cold_parts
    WHERE tenant_id = ${tenantId} AND first_sequence = ${first} AND highest IS NOT NULL`;
  return row?.files ?? null;
}

/** The objects that readers use. */
export async function listedObjects(tx: WriterTx, tenantId: string): Promise<string[]> {
  const rows = await rowsOf<{ name: string }>(tx)`
    SELECT folder || '/' || (f.value->>'name') AS name
    FROM cold_parts CROSS JOIN LATERAL jsonb_each(files::jsonb) f
    WHERE tenant_id = ${tenantId} AND highest IS NOT NULL ORDER BY first_sequence, name`;
  return rows.map(({ name }) => name);
}

/** From this commit on, events with a lower id are read from the archive. */
export async function setColdBefore(
  tx: WriterTx,
  tenantId: string,
  coldBefore: string,
): Promise<void> {
  await execute(tx)`UPDATE tenants SET cold_before = ${coldBefore} WHERE id = ${tenantId}`;
}

const rowsMax = 5_000;

/** Deletes some of the rows that nothing reads any more; returns whether there may be more. */
export async function deleteCold(
  tx: WriterTx,
  tenantId: string,
  coldBefore: string,
): Promise<boolean> {
  for (const each of await classesOf(tx, tenantId)) {
    if (each === lateClass) continue;
    const ofClass = sql`tenant_id = ${tenantId} AND retention_class = ${each}`;
    const isAny = await hasRow(tx)`DELETE FROM audit_events
      WHERE ${ofClass} AND id < coalesce((SELECT id FROM audit_events
        WHERE ${ofClass} AND id < ${coldBefore} ORDER BY id OFFSET ${rowsMax} LIMIT 1), ${coldBefore})`;
    if (isAny) return true;
  }
  return false;
}
