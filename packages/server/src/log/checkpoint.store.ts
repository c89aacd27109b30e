import type { TenantTx, WriterTx } from '../db.ts';
import { byteaArray, int8Array, textArray, uuidArray } from '../pg-arrays.ts';

/** A checkpoint that is in the object store, or about to be. */
export interface SignedCheckpoint {
  tenantId: string;
  logId: string;
  size: number;
  root: Uint8Array;
  note: string;
}

/** A log that has grown since its last checkpoint; `signed` is that one, of the same log id. */
export interface DirtyLog {
  tenantId: string;
  logId: string;
  size: number;
  frontier: Buffer;
  signedSize: number | null;
  signedRoot: Buffer | null;
}

/** Takes the next round for this transaction; null when another process has it. */
export async function takeRound(tx: WriterTx): Promise<{ round: number; halted: string | null } | null> {
  const { rows } = await tx.query<{ round: number; halted: string | null }>('SELECT round, halted FROM take_round()');
  return rows[0] ?? null;
}

/** Why recording and signing stand still, or null. */
export async function haltReason(tx: WriterTx): Promise<string | null> {
  const { rows } = await tx.query<{ halted: string | null }>('SELECT halted FROM log_rounds');
  return rows[0]?.halted ?? null;
}

/** Logs whose head is not the one last published, shorter ones included: those are damage. */
export async function dirtyLogs(tx: WriterTx, limit: number): Promise<DirtyLog[]> {
  const { rows } = await tx.query<DirtyLog>({
    name: 'dirty-logs',
    text: `SELECT h.tenant_id AS "tenantId", h.log_id AS "logId", h.size, h.frontier,
        c.size AS "signedSize", c.root AS "signedRoot"
      FROM log_heads h LEFT JOIN log_checkpoints c ON c.tenant_id = h.tenant_id AND c.log_id = h.log_id
      WHERE h.size > 0 AND h.size IS DISTINCT FROM c.size LIMIT $1`,
    values: [limit],
  });
  return rows;
}

/** The heads of these logs, by log id; an unknown id is missing. */
export async function headsByLogId(tx: WriterTx, logIds: readonly string[]) {
  const { rows } = await tx.query<{ logId: string; tenantId: string; size: number }>({
    text: 'SELECT log_id AS "logId", tenant_id AS "tenantId", size FROM log_heads WHERE log_id = ANY ($1)',
    values: [uuidArray(logIds)],
  });
  return new Map(rows.map((row) => [row.logId, row]));
}

/** Makes a round's checkpoints the released ones. Only after they are in the object store. */
export async function publishRound(
  tx: WriterTx,
  round: number,
  checkpoints: readonly SignedCheckpoint[],
  nowMs: number,
): Promise<void> {
  await tx.query({
    text: 'SELECT publish_round($1, $2, $3, $4, $5, $6, $7)',
    values: [
      round,
      uuidArray(checkpoints.map((c) => c.tenantId)),
      uuidArray(checkpoints.map((c) => c.logId)),
      int8Array(checkpoints.map((c) => c.size)),
      byteaArray(checkpoints.map((c) => c.root)),
      textArray(checkpoints.map((c) => c.note)),
      new Date(nowMs),
    ],
  });
}

/** Stops recording and signing in every process, until the log is reopened. */
export async function haltLog(tx: WriterTx, reason: string): Promise<void> {
  await tx.query('SELECT halt_log($1)', [reason]);
}

/** The host part of every origin: the one given, unless one was set before. */
export async function openOrigin(tx: WriterTx, host: string): Promise<string> {
  const { rows } = await tx.query<{ host: string }>('SELECT open_origin($1) AS host', [host]);
  return rows[0]?.host ?? host;
}

/** Makes this key the one in use: since when, and whether the logs have yet to be told. */
export async function useSigningKey(
  tx: WriterTx,
  publicKey: Uint8Array,
  nowMs: number,
): Promise<{ beganMs: number; unannounced: boolean }> {
  const { rows } = await tx.query<{ beganMs: number; unannounced: boolean }>(
    'SELECT began AS "beganMs", unannounced FROM use_signing_key($1, $2)',
    [Buffer.from(publicKey), new Date(nowMs)],
  );
  return rows[0] ?? { beganMs: nowMs, unannounced: false };
}

/** Notes that every log holds the record of this key. */
export async function signingKeyAnnounced(tx: WriterTx, publicKey: Uint8Array): Promise<void> {
  await tx.query('SELECT signing_key_announced($1)', [Buffer.from(publicKey)]);
}

export interface SigningKeyRow {
  publicKey: Buffer;
  notBeforeMs: number;
  notAfterMs: number | null;
}

/** Every key that ever signed, newest first. */
export async function signingKeys(tx: Pick<WriterTx, 'query'>): Promise<SigningKeyRow[]> {
  const { rows } = await tx.query<SigningKeyRow>(
    `SELECT public_key AS "publicKey", not_before AS "notBeforeMs", not_after AS "notAfterMs"
     FROM signing_keys ORDER BY not_before DESC`,
  );
  return rows;
}

export interface PublishedCheckpoint {
  logId: string;
  size: number;
  root: Buffer;
  note: string;
  signedAtMs: number;
}

/** The tenant's log id, and its last released checkpoint if there is one. */
export async function publishedCheckpoint(
  tx: TenantTx,
): Promise<{ logId: string; size: number; checkpoint: PublishedCheckpoint | null } | null> {
  const { rows } = await tx.query<{ logId: string; headSize: number } & { [K in keyof PublishedCheckpoint]: PublishedCheckpoint[K] | null }>({
    name: 'published-checkpoint',
    text: `SELECT h.log_id AS "logId", h.size AS "headSize", c.size, c.root, c.note, c.signed_at AS "signedAtMs"
      FROM log_heads h LEFT JOIN log_checkpoints c ON c.tenant_id = h.tenant_id AND c.log_id = h.log_id
      WHERE h.tenant_id = $1`,
    values: [tx.tenantId],
  });
  const [row] = rows;
  if (!row) return null;
  const { logId, headSize, size, root, note, signedAtMs } = row;
  if (logId === null) return null;
  if (size === null || root === null || note === null || signedAtMs === null) return { logId, size: headSize, checkpoint: null };
  return { logId, size: headSize, checkpoint: { logId, size, root, note, signedAtMs } };
}
