import type { Scope } from '@indelible/protocol';
import type pg from 'pg';
import type { Maker, StoredApiKey } from '../access/principal.ts';
import type { WriterTx } from '../postgres/db.ts';
import { uuidArray } from '../postgres/pg-arrays.ts';
import { dateOrNull, execute, firstRow, hasRow, rowsOf, sql } from '../postgres/sql.ts';

/** A key as shown, without its hash. */
export interface ApiKeyRow {
  id: string;
  /** Null: platform-bound. */
  tenantId: string | null;
  name: string;
  scopes: Scope[];
  createdAtMs: number;
  expiresAtMs: number | null;
  revokedAtMs: number | null;
  madeBy: Maker | null;
  allowedIps: string[] | null;
  /** Within ten minutes; null: never. */
  lastUsedAtMs: number | null;
}

const columns = sql`id, tenant_id AS "tenantId", name, scopes, created_at AS "createdAtMs",
  expires_at AS "expiresAtMs", revoked_at AS "revokedAtMs", made_by AS "madeBy",
  allowed_ips AS "allowedIps", last_used_at AS "lastUsedAtMs"`;

/** Finds a key by id, for authentication: the tenant is not known yet. */
export async function findApiKey(pool: pg.Pool, id: string): Promise<StoredApiKey | null> {
  return firstRow<StoredApiKey>(pool)`
    SELECT id, tenant_id AS "tenantId", scopes, key_hash AS "keyHash",
      expires_at AS "expiresAtMs", revoked_at AS "revokedAtMs", made_by AS "madeBy",
      allowed_ips AS "allowedIps" FROM api_keys WHERE id = ${id}`;
}

/** Writes down that a key was used. */
export async function noteApiKeyUse(pool: pg.Pool, id: string, nowMs: number): Promise<void> {
  await execute(pool)`UPDATE api_keys SET last_used_at = ${new Date(nowMs)}
    WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < ${new Date(nowMs)})`;
}

/** Which of these keys are unknown, revoked, or expired at `nowMs`; every flush asks. */
export async function invalidKeyIds(
  tx: WriterTx,
  ids: readonly string[],
  nowMs: number,
): Promise<Set<string>> {
  const rows = await rowsOf<{ id: string }>(tx)`
    SELECT id FROM invalid_keys(${uuidArray(ids)}, ${new Date(nowMs)}) AS id`;
  return new Set(rows.map((row) => row.id));
}

/** Which of these keys are revoked, or expired at `nowMs`. Not keys of the configuration. */
export async function endedKeyIds(
  tx: WriterTx,
  ids: readonly string[],
  nowMs: number,
): Promise<Set<string>> {
  const rows = await rowsOf<{ id: string }>(tx)`
    SELECT id FROM api_keys WHERE id = ANY (${uuidArray(ids)})
      AND (revoked_at IS NOT NULL OR expires_at <= ${new Date(nowMs)})`;
  return new Set(rows.map((row) => row.id));
}

export async function insertApiKey(tx: WriterTx, key: ApiKeyRow, keyHash: Uint8Array) {
  await execute(tx)`
    INSERT INTO api_keys (id, tenant_id, name, scopes, key_hash, created_at, expires_at, made_by,
      allowed_ips)
    VALUES (${key.id}, ${key.tenantId}, ${key.name}, ${key.scopes}, ${keyHash},
      ${new Date(key.createdAtMs)}, ${dateOrNull(key.expiresAtMs)},
      ${key.madeBy}, ${key.allowedIps})`;
}

/** The owner's keys by id (by age), from this one on, also revoked and expired ones. */
export async function listApiKeys(
  tx: WriterTx,
  owner: string | null,
  from: string,
  count: number,
): Promise<ApiKeyRow[]> {
  // Two statements: `= NULL` finds nothing, and IS NOT DISTINCT FROM cannot use the index.
  const isOwner = owner === null ? sql`IS NULL` : sql`= ${owner}`;
  return rowsOf<ApiKeyRow>(tx)`SELECT ${columns} FROM api_keys
    WHERE id >= ${from} AND tenant_id ${isOwner} ORDER BY id LIMIT ${count}`;
}

/** Revokes a key of this owner and returns it; null if no such key is valid. */
export async function revokeApiKey(
  tx: WriterTx,
  id: string,
  owner: string | null,
  nowMs: number,
): Promise<ApiKeyRow | null> {
  return firstRow<ApiKeyRow>(tx)`UPDATE api_keys SET revoked_at = ${new Date(nowMs)}
    WHERE id = ${id} AND tenant_id IS NOT DISTINCT FROM ${owner} AND revoked_at IS NULL
    RETURNING ${columns}`;
}

/** Whether this owner has, or had, this key. */
export async function apiKeyExists(
  tx: WriterTx,
  id: string,
  owner: string | null,
): Promise<boolean> {
  return hasRow(tx)`SELECT FROM api_keys
    WHERE id = ${id} AND tenant_id IS NOT DISTINCT FROM ${owner}`;
}
