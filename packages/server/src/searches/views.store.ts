import { firstRow, type TenantTx, textArray, type WriterTx } from '../postgres/index.ts';

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

const columns = `id, name, filters, last, columns, shared, created_at AS "createdAtMs",
  updated_at AS "updatedAtMs", created_by_id AS "createdById", created_by_email AS "createdByEmail"`;

const time = (ms: number) => new Date(ms);
const listOrNull = (texts: string[] | null) => texts && textArray(texts);

export async function insertView(tx: WriterTx, tenantId: string, view: ViewRow): Promise<void> {
  const { id, name, filters, last, shared, createdAtMs, updatedAtMs } = view;
  await tx.query({
    name: 'insert-view',
    text: `INSERT INTO views (tenant_id, id, name, filters, last, columns, shared, created_at, updated_at,
        created_by_id, created_by_email)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    values: [
      ...[tenantId, id, name, filters, last, listOrNull(view.columns), shared],
      ...[time(createdAtMs), time(updatedAtMs), view.createdById, view.createdByEmail],
    ],
  });
}

/** Replaces the settings of a locked view. */
export async function updateView(tx: WriterTx, tenantId: string, view: ViewRow): Promise<void> {
  const { id, name, filters, last, shared, updatedAtMs } = view;
  await tx.query({
    name: 'update-view',
    text: `UPDATE views SET name = $3, filters = $4, last = $5, columns = $6, shared = $7, updated_at = $8
      WHERE tenant_id = $1 AND id = $2`,
    values: [
      ...[tenantId, id, name, filters, last, listOrNull(view.columns), shared],
      time(updatedAtMs),
    ],
  });
}

export async function deleteView(tx: WriterTx, tenantId: string, id: string): Promise<void> {
  await tx.query({
    name: 'delete-view',
    text: 'DELETE FROM views WHERE tenant_id = $1 AND id = $2',
    values: [tenantId, id],
  });
}

/** The view if this person may see it, locked until the transaction ends, or null. */
export async function lockView(
  tx: WriterTx,
  tenantId: string,
  id: string,
  personId: string,
): Promise<ViewRow | null> {
  return firstRow<ViewRow>(tx, {
    name: 'lock-view',
    text: `SELECT ${columns} FROM views
      WHERE tenant_id = $1 AND id = $2 AND (shared OR created_by_id = $3) FOR UPDATE`,
    values: [tenantId, id, personId],
  });
}

/** How many views the tenant shares, or this person has. */
export async function countViews(
  tx: WriterTx,
  tenantId: string,
  shared: boolean,
  personId: string,
): Promise<number> {
  const { rows } = await tx.query<{ count: number }>({
    name: 'count-views',
    text: `SELECT count(*) AS count FROM views
      WHERE tenant_id = $1 AND shared = $2 AND (shared OR created_by_id = $3)`,
    values: [tenantId, shared, personId],
  });
  return rows[0]?.count ?? 0;
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
  const { rows } = await tx.query<ViewRow>({
    name: 'list-views',
    text: `SELECT ${columns} FROM views
      WHERE tenant_id = $1 AND id <= $2 AND (shared OR created_by_id = $4) ORDER BY id DESC LIMIT $3`,
    values: [tx.tenantId, from, count, personId],
  });
  return rows;
}
