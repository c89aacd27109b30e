import type { Agent, Scope } from '@indelible/protocol';
import type pg from 'pg';
import type { Maker } from '../access/principal.ts';
import type { WriterTx } from '../postgres/db.ts';
import { execute, firstRow, rowsOf, sql } from '../postgres/sql.ts';

/** The person and place for a session. A superadmin has a reason, an admin none. */
export interface Visitor {
  tenantId: string;
  actorId: string;
  /** The host's own id of the person; null: a UUID. */
  actorExternalId: string | null;
  actorEmail: string | null;
  actorRole: 'admin' | 'superadmin';
  reason: string | null;
  /** The key that made the link; null for a token, and for old links. */
  openedBy: Maker | null;
  /** The session's scopes; null: all scopes of a person. */
  scopes: Scope[] | null;
}

export interface ViewerLink extends Visitor {
  id: string;
  path: string | null;
  expiresAtMs: number;
}

interface SpentLink extends Visitor {
  path: string | null;
  /** When the key that made it expires. */
  keyEndsMs: number | null;
}

export interface StoredSession extends Visitor {
  id: string;
  signedInBy: 'viewer_link' | 'jwt';
  /** The agents that signed in with the person's token, nearest first. */
  agents: readonly Agent[];
  idleExpiresAtMs: number;
  expiresAtMs: number;
}

const visitor = sql`tenant_id AS "tenantId", actor_id AS "actorId",
  actor_external_id AS "actorExternalId", actor_email AS "actorEmail", actor_role AS "actorRole", reason, opened_by AS "openedBy", scopes`;

const session = sql`id, ${visitor}, agents, signed_in_by AS "signedInBy",
  idle_expires_at AS "idleExpiresAtMs", expires_at AS "expiresAtMs"`;

// Judged at each use: a link spent while its key is being revoked opens no session either.
const ofValidKey = (nowMs: number) => sql`NOT EXISTS (SELECT 1 FROM api_keys
  WHERE api_keys.id = (opened_by->>'id')::uuid
    AND (revoked_at IS NOT NULL OR api_keys.expires_at <= ${new Date(nowMs)}))`;

const visitorValues = (v: Visitor) => sql`${v.tenantId}, ${v.actorId}, ${v.actorExternalId},
  ${v.actorEmail}, ${v.actorRole}, ${v.reason}, ${v.openedBy}, ${v.scopes}`;

export async function insertViewerLink(tx: WriterTx, tokenHash: Uint8Array, link: ViewerLink) {
  await execute(tx)`
    INSERT INTO viewer_links (token_hash, id, tenant_id, actor_id, actor_external_id, actor_email, actor_role,
      reason, opened_by, scopes, path, expires_at)
    VALUES (${tokenHash}, ${link.id}, ${visitorValues(link)}, ${link.path},
      ${new Date(link.expiresAtMs)})`;
}

/**
 * Deletes a valid link and returns it, or null. Of concurrent calls the first gets the row; the
 * others wait for its transaction, and find nothing unless it fails.
 */
export async function spendViewerLink(
  tx: WriterTx,
  tokenHash: Uint8Array,
  nowMs: number,
): Promise<SpentLink | null> {
  return firstRow<SpentLink>(tx)`DELETE FROM viewer_links
    WHERE token_hash = ${tokenHash} AND expires_at > ${new Date(nowMs)} AND ${ofValidKey(nowMs)}
    RETURNING ${visitor}, path, (SELECT api_keys.expires_at FROM api_keys
      WHERE api_keys.id = (opened_by->>'id')::uuid) AS "keyEndsMs"`;
}

export async function insertSession(tx: WriterTx, tokenHash: Uint8Array, session: StoredSession) {
  await execute(tx)`
    INSERT INTO sessions (token_hash, id, tenant_id, actor_id, actor_external_id, actor_email, actor_role,
      reason, opened_by, scopes, signed_in_by, agents, idle_expires_at, expires_at)
    VALUES (${tokenHash}, ${session.id}, ${visitorValues(session)}, ${session.signedInBy},
      ${JSON.stringify(session.agents)}, ${new Date(session.idleExpiresAtMs)},
      ${new Date(session.expiresAtMs)})`;
}

/** The valid session of a cookie at `nowMs`, or null. The tenant is not known yet. */
export async function findSession(
  pool: pg.Pool,
  tokenHash: Uint8Array,
  nowMs: number,
): Promise<StoredSession | null> {
  return firstRow<StoredSession>(pool)`SELECT ${session} FROM sessions
    WHERE token_hash = ${tokenHash} AND idle_expires_at > ${new Date(nowMs)} AND ${ofValidKey(nowMs)}`;
}

/** The tenant's sessions that work at `nowMs`, newest first, from this id on. */
export async function listSessions(
  tx: WriterTx,
  tenantId: string,
  nowMs: number,
  from: string,
  count: number,
): Promise<StoredSession[]> {
  return rowsOf<StoredSession>(tx)`SELECT ${session} FROM sessions
    WHERE tenant_id = ${tenantId} AND idle_expires_at > ${new Date(nowMs)} AND id <= ${from}
      AND ${ofValidKey(nowMs)} ORDER BY id DESC LIMIT ${count}`;
}

/** Ends a session of this tenant and returns it; null when there is none that works. */
export async function endSession(
  tx: WriterTx,
  tenantId: string,
  id: string,
  nowMs: number,
): Promise<StoredSession | null> {
  return firstRow<StoredSession>(tx)`DELETE FROM sessions
    WHERE tenant_id = ${tenantId} AND id = ${id} AND idle_expires_at > ${new Date(nowMs)}
      AND ${ofValidKey(nowMs)} RETURNING ${session}`;
}

/** Extends an unused session; never backwards, never beyond its latest end. */
export async function prolongSession(pool: pg.Pool, tokenHash: Uint8Array, untilMs: number) {
  await execute(pool)`UPDATE sessions SET idle_expires_at = least(${new Date(untilMs)}, expires_at)
    WHERE token_hash = ${tokenHash} AND idle_expires_at < least(${new Date(untilMs)}, expires_at)`;
}

/** Ends a session, if it exists. */
export async function deleteSession(on: pg.Pool | WriterTx, tokenHash: Uint8Array): Promise<void> {
  await execute(on)`DELETE FROM sessions WHERE token_hash = ${tokenHash}`;
}

/** Deletes some expired links and sessions. */
export async function forgetExpired(tx: WriterTx, nowMs: number): Promise<void> {
  await execute(tx)`SELECT forget_expired_sign_ins(${new Date(nowMs)})`;
}
