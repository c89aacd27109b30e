import type { Requester } from '../access/tenant-access.ts';
import type { TenantTx, WriterTx } from '../postgres/db.ts';
import { firstRow, hasRow, rowsOf, sql } from '../postgres/sql.ts';

/** The outcome of a restore; `reason` is one line of at most 1 KiB, null if applied. */
export interface RestoreOutcome {
  status: 'applied' | 'refused' | 'failed';
  reason: string | null;
}

/** What was requested, and by whom. */
export interface RestoreRequest extends Requester {
  id: string;
  eventUuid: string;
  resourceType: string;
  resourceId: string;
  resourceName: string | null;
  target: 'before' | 'after';
  /** Members of the state; null: all of it. */
  fields: string[] | null;
  requestedAtMs: number;
}

export interface RestoreRow extends RestoreRequest {
  status: 'requested' | RestoreOutcome['status'];
  reason: string | null;
  finishedAtMs: number | null;
}

/** A restore without an outcome. */
export interface PendingRestore extends RestoreRequest {
  /** The call's JSON text. */
  body: string;
}

const requestColumns = sql`tenant_id AS "tenantId", id, event_id AS "eventUuid", resource_type AS "resourceType",
  resource_id AS "resourceId", resource_name AS "resourceName", target, fields, requested_at AS "requestedAtMs",
  requested_by_id AS "requestedById", requested_by_email AS "requestedByEmail",
  requested_by_external_id AS "requestedByExternalId",
  requested_by_role AS "requestedByRole", agents,
  access_reason AS "accessReason"`;
const rowColumns = sql`${requestColumns}, status, reason, finished_at AS "finishedAtMs"`;

/** The tenant's restore URL with its encrypted secret; null if there is none. */
export async function restoreAddress(
  tx: TenantTx,
): Promise<{ url: string; sealedSecret: Buffer } | null> {
  return firstRow<{ url: string; sealedSecret: Buffer }>(tx)`
    SELECT restore_url AS url, restore_secret AS "sealedSecret" FROM tenants
    WHERE id = ${tx.tenantId} AND restore_url IS NOT NULL AND restore_secret IS NOT NULL`;
}

/** False while another restore of the same event to the same state is in progress. */
export async function insertRestore(
  tx: WriterTx,
  request: RestoreRequest,
  body: string,
): Promise<boolean> {
  return hasRow(tx)`
    INSERT INTO restores (tenant_id, id, event_id, resource_type, resource_id, resource_name,
      target, requested_at, requested_by_id, requested_by_email, requested_by_role, agents,
      access_reason, body, fields, requested_by_external_id)
    VALUES (${request.tenantId}, ${request.id}, ${request.eventUuid}, ${request.resourceType},
      ${request.resourceId}, ${request.resourceName}, ${request.target},
      ${new Date(request.requestedAtMs)}, ${request.requestedById}, ${request.requestedByEmail},
      ${request.requestedByRole}, ${JSON.stringify(request.agents)}, ${request.accessReason},
      ${body}, ${request.fields}, ${request.requestedByExternalId}) ON CONFLICT DO NOTHING`;
}

/** The restore of the same event and state that is in progress, or null. */
export async function pendingRestore(
  tx: WriterTx,
  { tenantId, eventUuid, target }: RestoreRequest,
): Promise<string | null> {
  const row = await firstRow<{ id: string }>(tx)`SELECT id FROM restores
    WHERE tenant_id = ${tenantId} AND event_id = ${eventUuid} AND target = ${target}
      AND status = 'requested'`;
  return row?.id ?? null;
}

export async function getRestore(tx: TenantTx, id: string): Promise<RestoreRow | null> {
  return firstRow<RestoreRow>(tx)`SELECT ${rowColumns} FROM restores
    WHERE tenant_id = ${tx.tenantId} AND id = ${id}`;
}

/** Newest first, from this id on; of one type, of one resource, or of all (null). */
export async function listRestores(
  tx: TenantTx,
  { type, id }: { type: string | null; id: string | null },
  from: string,
  count: number,
): Promise<RestoreRow[]> {
  const ofType = type === null ? sql`` : sql`AND resource_type = ${type}`;
  const ofResource = id === null ? ofType : sql`${ofType} AND resource_id = ${id}`;
  return rowsOf<RestoreRow>(tx)`SELECT ${rowColumns} FROM restores
    WHERE tenant_id = ${tx.tenantId} AND id <= ${from} ${ofResource}
    ORDER BY id DESC LIMIT ${count}`;
}

/** The restore with its call; null once it has an outcome. */
export async function readPending(tx: TenantTx, id: string): Promise<PendingRestore | null> {
  return firstRow<PendingRestore>(tx)`SELECT ${requestColumns}, body FROM restores
    WHERE tenant_id = ${tx.tenantId} AND id = ${id} AND status = 'requested'`;
}

/** Stores the outcome and deletes the states. False if there was one: the first outcome counts. */
export async function finishRestore(
  tx: WriterTx,
  { tenantId, id }: RestoreRequest,
  { status, reason }: RestoreOutcome,
  nowMs: number,
): Promise<boolean> {
  return hasRow(tx)`UPDATE restores
    SET status = ${status}, reason = ${reason}, finished_at = ${new Date(nowMs)}, body = NULL
    WHERE tenant_id = ${tenantId} AND id = ${id} AND status = 'requested'`;
}
