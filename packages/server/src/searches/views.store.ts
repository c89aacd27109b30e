import type { TenantTx, WriterTx } from '../postgres/db.ts';
import { textArray } from '../postgres/pg-arrays.ts';
import { countOf, execute, firstRow, rowsOf, sql } from '../postgres/sql.ts';

/** What a caller sets of a view. */
export interface ViewSettings {
  name: string;
  /** JSON text of the filter, see `filterToJson`. */
  filters: string;
  /** A relative time range of the panel. */
  last: string | null;
  columns: string[] | null;
  shared: boolean;
}

/** A live view: a search under a name. */
export interface ViewRow extends ViewSettings {
  id: string;
  createdAtMs: number;
  updatedAtMs: number;
  createdById: string;
  createdByEmail: string | null;
}

const columns = sql`id, name, filters, last, columns, shared, created_at AS "createdAtMs",
  updated_at AS "updatedAtMs", created_by_id AS "createdById", created_by_email AS "createdByEmail"`;

const listOrNull = (texts: string[] | null) => texts && textArray(texts);

export async function insertView(tx: WriterTx, tenantId: string, view: ViewRow): Promise<void> {
  const { id, name, filters, last, shared, createdAtMs, updatedAtMs } = view;
  await execute(tx)`
    INSERT INTO views (tenant_id, id, name, filters, last, columns, shared, created_at, updated_at,
      created_by_id, created_by_email)
    VALUES (${tenantId}, ${id}, ${name}, ${filters}, ${last}, ${listOrNull(view.columns)},
      ${shared}, ${new Date(createdAtMs)}, ${new Date(updatedAtMs)}, ${view.createdById},
      ${view.createdByEmail})`;
}

/** Replaces the settings of a locked view. */
export async function updateView(tx: WriterTx, tenantId: string, view: ViewRow): Promise<void> {
  const { id, name, filters, last, shared, updatedAtMs } = view;
  await execute(tx)`UPDATE views
    SET name = ${name}, filters = ${filters}, last = ${last}, columns = ${listOrNull(view.columns)},
      shared = ${shared}, updated_at = ${new Date(updatedAtMs)}
    WHERE tenant_id = ${tenantId} AND id = ${id}`;
}

export async function deleteView(tx: WriterTx, tenantId: string, id: string): Promise<void> {
  await execute(tx)`DELETE FROM views WHERE tenant_id = ${tenantId} AND id = ${id}`;
}

/** The view if this person may see it, locked until the transaction ends, or null. */
export async function lockView(
  tx: WriterTx,
  tenantId: string,
  id: string,
  personId: string,
): Promise<ViewRow | null> {
  return firstRow<ViewRow>(tx)`SELECT ${columns} FROM views
    WHERE tenant_id = ${tenantId} AND id = ${id} AND (shared OR created_by_id = ${personId})
    FOR UPDATE`;
}

/** How many views the tenant shares, or this person has. */
export async function countViews(
  tx: WriterTx,
  tenantId: string,
  shared: boolean,
  personId: string,
): Promise<number> {
  return countOf(tx)`SELECT count(*) AS count FROM views
    WHERE tenant_id = ${tenantId} AND shared = ${shared} AND (shared OR created_by_id = ${personId})`;
}

/** The view if this person may see it, or null. */
export async function getView(tx: TenantTx, id: string, personId: string): Promise<ViewRow | null> {
  const [view] = await listViews(tx, id, 1, personId);
  return view?.id === id ? view : null;
}

/** What this person sees, newest first, from this id on. */
export async function listViews(
  tx: TenantTx,
  from: string,
  count: number,
  personId: string,
): Promise<ViewRow[]> {
  return rowsOf<ViewRow>(tx)`SELECT ${columns} FROM views
    WHERE tenant_id = ${tx.tenantId} AND id <= ${from} AND (shared OR created_by_id = ${personId})
    ORDER BY id DESC LIMIT ${count}`;
}
