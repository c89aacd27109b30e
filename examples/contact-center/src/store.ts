import type { EventInput } from '@indelible/client';
import type pg from 'pg';
import type { Tx } from './database.ts';
import type { State } from './resource-types.ts';

export interface Resource {
  tenantId: string;
  id: string;
  type: string;
  name: string;
  state: State;
  deleted: boolean;
}

const columns = `tenant_id AS "tenantId", id, type, name, state, deleted`;

/** What the tenant has of this type, by name. */
export async function listResources(
  pool: pg.Pool,
  tenantId: string,
  type: string,
): Promise<Resource[]> {
  const { rows } = await pool.query<Resource>(
    `SELECT ${columns} FROM resources WHERE tenant_id = $1 AND type = $2 AND NOT deleted ORDER BY name`,
    [tenantId, type],
  );
  return rows;
}

/**
 * The resource, also a deleted one, locked until the transaction ends: what is recorded as the
 * state before a change is then the state before that very change.
 */
export async function lockResource(tx: Tx, tenantId: string, id: string): Promise<Resource | null> {
  const { rows } = await tx.query<Resource>(
    `SELECT ${columns} FROM resources WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
    [tenantId, id],
  );
  return rows[0] ?? null;
}

export async function writeResource(tx: Tx, resource: Resource): Promise<void> {
  const { tenantId, id, type, name, state, deleted } = resource;
  await tx.query(
    `INSERT INTO resources (tenant_id, id, type, name, state, deleted)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (tenant_id, id) DO UPDATE
     SET type = excluded.type, name = excluded.name, state = excluded.state, deleted = excluded.deleted`,
    [tenantId, id, type, name, JSON.stringify(state), deleted],
  );
}

export interface Recording {
  id: string;
  agent: string;
  caller: string;
  startedAt: Date;
  seconds: number;
}

const recordingColumns = `id, agent, caller, started_at AS "startedAt", seconds`;

export async function listRecordings(pool: pg.Pool, tenantId: string): Promise<Recording[]> {
  const { rows } = await pool.query<Recording>(
    `SELECT ${recordingColumns} FROM recordings WHERE tenant_id = $1 ORDER BY started_at DESC LIMIT 50`,
    [tenantId],
  );
  return rows;
}

export async function findRecording(
  tx: Tx,
  tenantId: string,
  id: string,
): Promise<Recording | null> {
  const { rows } = await tx.query<Recording>(
    `SELECT ${recordingColumns} FROM recordings WHERE tenant_id = $1 AND id = $2`,
    [tenantId, id],
  );
  return rows[0] ?? null;
}

export async function insertRecording(
  tx: Tx,
  tenantId: string,
  { id, agent, caller, startedAt, seconds }: Recording,
): Promise<void> {
  await tx.query(
    `INSERT INTO recordings (tenant_id, id, agent, caller, started_at, seconds)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [tenantId, id, agent, caller, startedAt, seconds],
  );
}

export async function isEmpty(pool: pg.Pool): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM resources LIMIT 1');
  return rowCount === 0;
}

/** The answer to a restore, or null; concurrent calls for one restore wait for each other. */
export async function lockRestoreAnswer(tx: Tx, restoreId: string): Promise<unknown> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtext($1))', [restoreId]);
  const { rows } = await tx.query<{ answer: unknown }>(
    'SELECT answer FROM restore_answers WHERE id = $1',
    [restoreId],
  );
  return rows[0]?.answer ?? null;
}

export async function keepRestoreAnswer(tx: Tx, restoreId: string, answer: unknown) {
  await tx.query('INSERT INTO restore_answers (id, answer) VALUES ($1, $2)', [
    restoreId,
    JSON.stringify(answer),
  ]);
}

type ReceivedEvent = EventInput & { timestamp: string; sequence: number };

/**
 * Keeps an event that a webhook brought, once. The newest is right: of an erased one less is left.
 */
export async function keepReceived(
  pool: pg.Pool,
  tenantId: string,
  event: ReceivedEvent,
): Promise<void> {
  await pool.query(
    `INSERT INTO received_events (tenant_id, sequence, event) VALUES ($1, $2, $3)
     ON CONFLICT (tenant_id, sequence) DO UPDATE SET event = excluded.event`,
    [tenantId, event.sequence, JSON.stringify(event)],
  );
}

/** The newest first. */
export async function listReceived(pool: pg.Pool, tenantId: string): Promise<ReceivedEvent[]> {
  const { rows } = await pool.query<{ event: ReceivedEvent }>(
    `SELECT event FROM received_events WHERE tenant_id = $1 ORDER BY sequence DESC LIMIT 50`,
    [tenantId],
  );
  return rows.map(({ event }) => event);
}

/** The key that events are recorded with, if one was made already. */
export async function findRecordingKey(pool: pg.Pool): Promise<RecordingKey | null> {
  const { rows } = await pool.query<RecordingKey>(
    'SELECT key_id AS "keyId", key FROM audit_credentials',
  );
  return rows[0] ?? null;
}

export interface RecordingKey {
  /** UUID; events name who recorded them by it. */
  keyId: string;
  key: string;
}

export async function keepRecordingKey(pool: pg.Pool, { keyId, key }: RecordingKey) {
  await pool.query('INSERT INTO audit_credentials (key_id, key) VALUES ($1, $2)', [keyId, key]);
}

/** What the service signs its calls with, and where it was told to call. */
export interface CallSecrets {
  ownUrl: string;
  restore: string;
  webhook: string;
}

export async function findSecrets(pool: pg.Pool, tenantId: string): Promise<CallSecrets | null> {
  const { rows } = await pool.query<CallSecrets>(
    `SELECT own_url AS "ownUrl", restore_secret AS restore, webhook_secret AS webhook
     FROM audit_connections WHERE tenant_id = $1`,
    [tenantId],
  );
  return rows[0] ?? null;
}

export async function keepSecrets(
  pool: pg.Pool,
  tenantId: string,
  { ownUrl, restore, webhook }: CallSecrets,
): Promise<void> {
  await pool.query(
    `INSERT INTO audit_connections (tenant_id, own_url, restore_secret, webhook_secret)
     VALUES ($1, $2, $3, $4)
     ON CONFLICT (tenant_id) DO UPDATE SET own_url = excluded.own_url,
       restore_secret = excluded.restore_secret, webhook_secret = excluded.webhook_secret`,
    [tenantId, ownUrl, restore, webhook],
  );
}
