import { tileWidth } from '@indelible/protocol';
import { seedSigner } from '../crypto/signer.ts';
import { unavailable } from '../http/problem.ts';
import {
  type Database,
  mayPause,
  type Queries,
  type TenantTx,
  type WriterTx,
} from '../postgres/db.ts';
import { byteaArray, int8Array, textArray, uuidArray } from '../postgres/pg-arrays.ts';
import { execute, firstRow, raw, rowsOf, sql } from '../postgres/sql.ts';
import { unreadable } from './entries.store.ts';
import { type LogCheckpoint, type RoundKeys, readNote } from './round.ts';

/** A checkpoint that is in the object store, or about to be. */
export interface SignedCheckpoint extends LogCheckpoint {
  tenantId: string;
}

/**
 * A log whose state differs from its last checkpoint; `signed…` is that one, of the same log id.
 */
export interface DirtyLog {
  tenantId: string;
  logId: string;
  /** 0 if the log's head is missing. */
  size: number;
  frontier: Buffer;
  signedSize: number | null;
  signedRoot: Buffer | null;
  /** False if the newest entry is not stored. */
  isStored: boolean;
  /** Whether entries are stored after its end. */
  hasSurplus: boolean;
}

export interface TakenRound {
  /** The last round whose checkpoints are released. */
  round: number;
  /** Why recording and signing are stopped, or null. */
  halted: string | null;
  /** The public key that may sign; null before the first. */
  keyInUse: Buffer | null;
  /** The seed of the installation key. */
  seed: Buffer;
}

/**
 * Takes the rounds for this transaction; null if another process has them. With `wait` it waits for
 * that process, up to lock_timeout.
 */
export async function takeRound(tx: Queries, wait: boolean): Promise<TakenRound | null> {
  return firstRow<TakenRound>(tx)`
    SELECT round, halted, (SELECT seed FROM installation_key) AS seed,
      (SELECT public_key FROM signing_keys WHERE not_after IS NULL) AS "keyInUse"
    FROM take_round(${wait})`;
}

/** Keeps every process from signing until the transaction ends; waits for a round that runs. */
export async function holdRounds(tx: WriterTx): Promise<void> {
  await tx.query('SET LOCAL lock_timeout = 60000');
  // Comparing hundreds of thousands of objects takes longer than a transaction may rest.
  await mayPause(tx);
  await takeRound(tx, true);
}

export interface Rounds extends Pick<TakenRound, 'round' | 'halted' | 'seed'> {
  /** The known problem of the object store, or null. */
  alarm: string | null;
}

/** The rounds as the database knows them. */
export async function roundsNow(tx: Queries): Promise<Rounds> {
  const row = await firstRow<Rounds>(tx)`
    SELECT round, halted, alarm, seed FROM log_rounds, installation_key`;
  if (!row) throw new Error('log_rounds or installation_key has lost its row');
  return row;
}

/** Why recording and signing are stopped, or null. */
export async function haltReason(db: Database, timeoutMs: number): Promise<string | null> {
  const { text } = sql`SELECT halted FROM log_rounds`;
  const question = { text, query_timeout: timeoutMs };
  const { rows } = await db.operations.query<{ halted: string | null }>(question);
  return rows[0]?.halted ?? null;
}

/**
 * Logs whose head differs from the last published one, or that are not stored exactly up to their
 * end. Includes damage: logs that are missing, or shorter than published.
 */
export async function dirtyLogs(tx: WriterTx, limit: number): Promise<DirtyLog[]> {
  const width = raw(tileWidth);
  return rowsOf<DirtyLog>(tx)`
    SELECT * FROM (
      SELECT tenant_id AS "tenantId", log_id AS "logId",
        coalesce(h.size, 0) AS size, coalesce(h.frontier, '') AS frontier,
        c.size AS "signedSize", c.root AS "signedRoot",
        CASE WHEN coalesce(h.size, 0) = 0 THEN true
          WHEN h.size % ${width} = 0 THEN EXISTS (SELECT 1 FROM log_tiles t
            WHERE t.tenant_id = h.tenant_id AND t.level = 0 AND t.index = h.size / ${width} - 1)
          ELSE EXISTS (SELECT 1 FROM log_tail t
            WHERE t.tenant_id = h.tenant_id AND t.sequence = h.size - 1)
        END AS "isStored",
        EXISTS (SELECT 1 FROM log_tail t WHERE t.tenant_id = h.tenant_id AND t.sequence >= h.size)
          OR EXISTS (SELECT 1 FROM log_tiles t WHERE t.tenant_id = h.tenant_id AND t.level = 0
            AND t.index >= h.size / ${width}) AS "hasSurplus"
      FROM log_heads h FULL JOIN log_checkpoints c USING (tenant_id, log_id)
    ) logs
    WHERE size <> coalesce("signedSize", 0) OR NOT "isStored" OR "hasSurplus" LIMIT ${limit}`;
}

/** The heads of these logs, by log id; absent for unknown ids. */
export async function headsByLogId(tx: WriterTx, logIds: readonly string[]) {
  const rows = await rowsOf<{ logId: string; tenantId: string; size: number }>(tx)`
    SELECT log_id AS "logId", tenant_id AS "tenantId", size FROM log_heads
    WHERE log_id = ANY (${uuidArray(logIds)})`;
  return new Map(rows.map((row) => [row.logId, row]));
}

export type HeadsByLogId = Awaited<ReturnType<typeof headsByLogId>>;

/** The existing heads of these tenants' logs. */
export async function headsOf(tx: WriterTx, tenantIds: readonly string[]) {
  interface Row {
    tenantId: string;
    logId: string;
    size: number;
    frontier: Buffer;
  }
  return rowsOf<Row>(tx)`
    SELECT tenant_id AS "tenantId", log_id AS "logId", size, frontier FROM log_heads
    WHERE tenant_id = ANY (${uuidArray(tenantIds)})`;
}

/** Releases a round's checkpoints. Only after they are in the object store. */
export async function publishRound(
  tx: WriterTx,
  round: number,
  checkpoints: readonly SignedCheckpoint[],
  nowMs: number,
): Promise<void> {
  await execute(tx)`SELECT publish_round(${round},
    ${uuidArray(checkpoints.map((c) => c.tenantId))}, ${uuidArray(checkpoints.map((c) => c.logId))},
    ${int8Array(checkpoints.map((c) => c.size))}, ${byteaArray(checkpoints.map((c) => c.root))},
    ${textArray(checkpoints.map((c) => c.note))}, ${new Date(nowMs)})`;
}

/** Keeps the object of a round, in the transaction that releases it, and forgets the oldest. */
export async function keepRound(tx: Queries, round: number, object: Uint8Array): Promise<void> {
  await execute(tx)`SELECT keep_round(${round}, ${Buffer.from(object)})`;
}

/** The numbers of the kept rounds. */
export async function keptRounds(tx: Queries): Promise<number[]> {
  const rows = await rowsOf<{ round: number }>(tx)`SELECT round FROM round_objects ORDER BY round`;
  return rows.map(({ round }) => round);
}

export async function keptRound(tx: Queries, round: number): Promise<Buffer | null> {
  const row = await firstRow<{ object: Buffer }>(tx)`
    SELECT object FROM round_objects WHERE round = ${round}`;
  return row?.object ?? null;
}

/** One hash over the released checkpoints of all logs: `stateOf`, see round.ts. */
export async function releasedState(tx: WriterTx): Promise<Uint8Array> {
  const row = await firstRow<{ state: Buffer }>(tx)`SELECT released_state() AS state`;
  return row?.state ?? new Uint8Array();
}

/** Stores a problem of the object store for `indelible doctor`, unless there is one already. */
export async function noteAlarm(tx: WriterTx, sentence: string): Promise<void> {
  await execute(tx)`SELECT note_alarm(${sentence})`;
}

/** Stops recording and signing in every process until the log is reopened. */
export async function haltLog(tx: WriterTx, reason: string): Promise<void> {
  await execute(tx)`SELECT halt_log(${reason})`;
}

/** The host part of every origin: the stored one, or else the given one, which is stored. */
export async function openOrigin(tx: WriterTx, host: string): Promise<string> {
  const row = await firstRow<{ host: string }>(tx)`SELECT open_origin(${host}) AS host`;
  return row?.host ?? host;
}

export interface StoreLink {
  /** The shared identity of database and object store, null before the first. */
  storeId: string | null;
  /** The identity that a first start gives. */
  firstId: string;
  /** The last round. */
  round: number;
}

export async function storeLink(tx: Queries): Promise<StoreLink> {
  const row = await firstRow<StoreLink>(tx)`
    SELECT store_id AS "storeId", round,
      left(encode(sha256(convert_to('indelible/store/v1 ' || oid, 'UTF8') || seed), 'hex'), 32)::uuid
        AS "firstId"
    FROM installation, log_rounds, installation_key, pg_database WHERE datname = current_database()`;
  if (!row) throw new Error('installation, log_rounds or installation_key has lost its row');
  return row;
}

/** Stores the identity unless there is one; returns the stored one. */
export async function openStoreId(tx: Queries, id: string): Promise<string> {
  const row = await firstRow<{ id: string }>(tx)`SELECT open_store_id(${id}) AS id`;
  return row?.id ?? id;
}

/** Activates this key; returns since when, and whether logs still need its record. */
export async function useSigningKey(
  tx: WriterTx,
  publicKey: Uint8Array,
  nowMs: number,
): Promise<{ beganMs: number; unannounced: boolean }> {
  const row = await firstRow<{ beganMs: number; unannounced: boolean }>(tx)`
    SELECT began AS "beganMs", unannounced
    FROM use_signing_key(${Buffer.from(publicKey)}, ${new Date(nowMs)})`;
  return row ?? { beganMs: nowMs, unannounced: false };
}

/** Stores that every log has the record of this key. */
export async function signingKeyAnnounced(tx: WriterTx, publicKey: Uint8Array): Promise<void> {
  await execute(tx)`SELECT signing_key_announced(${Buffer.from(publicKey)})`;
}

export interface SigningKeyRow {
  publicKey: Buffer;
  notBeforeMs: number;
  notAfterMs: number | null;
}

/** All signing keys, newest first. */
export async function signingKeys(tx: Queries): Promise<SigningKeyRow[]> {
  return rowsOf<SigningKeyRow>(tx)`
    SELECT public_key AS "publicKey", not_before AS "notBeforeMs", not_after AS "notAfterMs"
    FROM signing_keys ORDER BY not_before DESC`;
}

/** The keys of rounds: `more`, those of the database, and the installation key of this seed. */
export async function roundKeys(
  tx: Queries,
  seed: Uint8Array,
  more: readonly Uint8Array[],
): Promise<RoundKeys> {
  const stored = (await signingKeys(tx)).map(({ publicKey }) => publicKey);
  return { known: [...more, ...stored], installation: await seedSigner(seed).publicKey() };
}

export interface PublishedCheckpoint extends LogCheckpoint {
  root: Buffer;
  signedAtMs: number;
}

/**
 * The tenant's log id, and its last released checkpoint, if any. Throws LogDamaged if that one is
 * inconsistent with itself; a round checks the rest.
 */
export async function publishedCheckpoint(
  tx: TenantTx,
): Promise<{ logId: string; size: number; checkpoint: PublishedCheckpoint | null } | null> {
  type Row = { headSize: number } & (PublishedCheckpoint | { logId: string; note: null });
  const row = await firstRow<Row>(tx)`
    SELECT h.log_id AS "logId", h.size AS "headSize", c.size, c.root, c.note, c.signed_at AS "signedAtMs"
    FROM log_heads h LEFT JOIN log_checkpoints c ON c.tenant_id = h.tenant_id AND c.log_id = h.log_id
    WHERE h.tenant_id = ${tx.tenantId}`;
  if (!row) return null;
  const { headSize: size, ...checkpoint } = row;
  const { logId } = checkpoint;
  if (checkpoint.note === null) return { logId, size, checkpoint: null };
  if (!saysItself(checkpoint)) throw unreadable('the checkpoint of a log was changed', tx.tenantId);
  return { logId, size, checkpoint };
}

/**
 * The last checkpoint of a log that `read` reads; without one, or unless it covers the whole log,
 * `publish` signs one first. An older one is enough if it `mayBeOlder`. Throws `unavailable`.
 */
export async function coveringCheckpoint(
  read: () => ReturnType<typeof publishedCheckpoint>,
  publish: () => Promise<void>,
  { mayBeOlder = false } = {},
): Promise<PublishedCheckpoint> {
  const log = await read();
  if (log?.checkpoint && (mayBeOlder || log.checkpoint.size >= log.size)) return log.checkpoint;
  await publish();
  const made = (await read())?.checkpoint;
  if (!made) throw unavailable('the log has no checkpoint yet; try again');
  return made;
}

/** Whether the note is valid and of this log, size and root. */
function saysItself({ logId, size, root, note }: PublishedCheckpoint): boolean {
  try {
    const read = readNote(note);
    return read.logId === logId && read.size === size && root.equals(read.root);
  } catch {
    return false;
  }
}
