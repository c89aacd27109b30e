import { lateClass, uuidFromBytes } from '@indelible/protocol';
import type { WriterTx } from '../postgres/db.ts';
import { uuidArray } from '../postgres/pg-arrays.ts';
import { firstRow } from '../postgres/sql.ts';

/* Statements of the owner role: no serving role may run them. */

/** Where a log stands. */
export interface ColdState {
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
  const { rows } = await tx.query<{ files: string }>(
    'SELECT files FROM cold_parts WHERE tenant_id = $1 AND first_sequence = $2 AND highest IS NOT NULL',
    [tenantId, first],
  );
  return rows[0]?.files ?? null;
}

/** The first of these entries whose event is stored, or null. */
export async function storedAmongEntries(
  tx: WriterTx,
  tenantId: string,
  entries: readonly Uint8Array[],
): Promise<string | null> {
  const { rows } = await tx.query<{ id: string }>(
    `SELECT e.id FROM unnest((SELECT retention_class || other_classes FROM log_heads WHERE tenant_id = $1)) AS class (c)
       CROSS JOIN unnest($2::uuid[]) AS wanted (i)
       CROSS JOIN LATERAL (SELECT id FROM audit_events
         WHERE tenant_id = $1 AND retention_class = c AND id = i OFFSET 0) e LIMIT 1`,
    [tenantId, uuidArray(entries.map((entry) => uuidFromBytes(entry, 12)))],
  );
  return rows[0]?.id ?? null;
}

/** From this commit on, events with a lower id are read from the archive. */
export async function setColdBefore(
  tx: WriterTx,
  tenantId: string,
  coldBefore: string,
): Promise<void> {
  await tx.query('UPDATE tenants SET cold_before = $2 WHERE id = $1', [tenantId, coldBefore]);
}

const rowsMax = 5_000;

/** Deletes some of the rows that nothing reads any more; returns whether there may be more. */
export async function deleteCold(
  tx: WriterTx,
  tenantId: string,
  coldBefore: string,
): Promise<boolean> {
  const { rows } = await tx.query<{ classes: number[] }>(
    'SELECT retention_class || other_classes AS classes FROM log_heads WHERE tenant_id = $1',
    [tenantId],
  );
  for (const each of rows.flatMap(({ classes }) => classes.map(Number))) {
    if (each === lateClass) continue;
    const { rowCount } = await tx.query(
      `DELETE FROM audit_events WHERE tenant_id = $1 AND retention_class = $2 AND id < coalesce(
         (SELECT id FROM audit_events WHERE tenant_id = $1 AND retention_class = $2 AND id < $3
          ORDER BY id OFFSET $4 LIMIT 1), $3)`,
      [tenantId, each, coldBefore, rowsMax],
    );
    if ((rowCount ?? 0) > 0) return true;
  }
  return false;
}
