import type { Agent, Scope } from '@indelible/protocol';
import type pg from 'pg';
import type { Maker } from '../access/index.ts';
import { firstRow, type WriterTx } from '../postgres/index.ts';

/** The person and place for a session. A superadmin has a reason, an admin none. */
export interface Visitor {
  tenantId: string;
  actorId: string;
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

export interface StoredSession extends Visitor {
  id: string;
  signedInBy: 'viewer_link' | 'jwt';
  /** That signed in with the person's token, nearest first. */
  agents: readonly Agent[];
  idleExpiresAtMs: number;
  expiresAtMs: number;
}

const visitor = `tenant_id AS "tenantId", actor_id AS "actorId", actor_email AS "actorEmail",
  actor_role AS "actorRole", reason, opened_by AS "openedBy", scopes`;

const session = `id, ${visitor}, agents, signed_in_by AS "signedInBy",
  idle_expires_at AS "idleExpiresAtMs", expires_at AS "expiresAtMs"`;

// Judged at each use: a link spent while its key is being revoked opens no session either.
const ofValidKey = `NOT EXISTS (SELECT 1 FROM api_keys
  WHERE api_keys.id = (opened_by->>'id')::uuid AND revoked_at IS NOT NULL)`;

function visitorValues(visitor: Visitor): unknown[] {
  const { tenantId, actorId, actorEmail, actorRole, reason, openedBy, scopes } = visitor;
  return [tenantId, actorId, actorEmail, actorRole, reason, openedBy, scopes];
}

export async function insertViewerLink(tx: WriterTx, tokenHash: Uint8Array, link: ViewerLink) {
  await tx.query({
    name: 'insert-viewer-link',
    text: `INSERT INTO viewer_links
        (token_hash, id, tenant_id, actor_id, actor_email, actor_role, reason, opened_by,
        scopes, path, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    values: [
      ...[tokenHash, link.id, ...visitorValues(link)],
      ...[link.path, new Date(link.expiresAtMs)],
    ],
  });
}

/**
 * Deletes a valid link and returns it, or null. Of concurrent calls the first gets the row; the
 * others wait for its transaction, and find nothing unless it fails.
 */
export async function spendViewerLink(
  tx: WriterTx,
  tokenHash: Uint8Array,
  nowMs: number,
): Promise<ViewerLink | null> {
  return firstRow<ViewerLink>(tx, {
    name: 'spend-viewer-link',
    text: `DELETE FROM viewer_links WHERE token_hash = $1 AND expires_at > $2 AND ${ofValidKey}
      RETURNING id, ${visitor}, path, expires_at AS "expiresAtMs"`,
    values: [tokenHash, new Date(nowMs)],
  });
}

export async function insertSession(tx: WriterTx, tokenHash: Uint8Array, session: StoredSession) {
  await tx.query({
    name: 'insert-session',
    text: `INSERT INTO sessions (token_hash, id, tenant_id, actor_id, actor_email, actor_role, reason,
        opened_by, scopes, signed_in_by, agents, idle_expires_at, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    values: [
      ...[tokenHash, session.id, ...visitorValues(session), session.signedInBy],
      JSON.stringify(session.agents),
      ...[new Date(session.idleExpiresAtMs), new Date(session.expiresAtMs)],
    ],
  });
}

/** The valid session of a cookie at `nowMs`, or null. The tenant is not known yet. */
export async function findSession(
  pool: pg.Pool,
  tokenHash: Uint8Array,
  nowMs: number,
): Promise<StoredSession | null> {
  return firstRow<StoredSession>(pool, {
    name: 'find-session',
    text: `SELECT ${session} FROM sessions
      WHERE token_hash = $1 AND idle_expires_at > $2 AND ${ofValidKey}`,
    values: [tokenHash, new Date(nowMs)],
  });
}

/** The tenant's sessions that work at `nowMs`, newest first, from this id on. */
export async function listSessions(
  tx: WriterTx,
  tenantId: string,
  nowMs: number,
  from: string,
  count: number,
): Promise<StoredSession[]> {
  const { rows } = await tx.query<StoredSession>({
    name: 'list-sessions',
    text: `SELECT ${session} FROM sessions
      WHERE tenant_id = $1 AND idle_expires_at > $2 AND id <= $3 AND ${ofValidKey}
      ORDER BY id DESC LIMIT $4`,
    values: [tenantId, new Date(nowMs), from, count],
  });
  return rows;
}

/** Ends a session of this tenant and returns it; null when there is none that works. */
export async function endSession(
  tx: WriterTx,
  tenantId: string,
  id: string,
  nowMs: number,
): Promise<StoredSession | null> {
  return firstRow<StoredSession>(tx, {
    name: 'end-session',
    text: `DELETE FROM sessions
      WHERE tenant_id = $1 AND id = $2 AND idle_expires_at > $3 AND ${ofValidKey}
      RETURNING ${session}`,
    values: [tenantId, id, new Date(nowMs)],
  });
}

/** Extends an unused session; never backwards, never beyond its latest end. */
export async function prolongSession(pool: pg.Pool, tokenHash: Uint8Array, untilMs: number) {
  await pool.query({
    name: 'prolong-session',
    text: `UPDATE sessions SET idle_expires_at = least($2, expires_at)
      WHERE token_hash = $1 AND idle_expires_at < least($2, expires_at)`,
    values: [tokenHash, new Date(untilMs)],
  });
}

/** Ends a session, if it exists. */
export async function deleteSession(on: pg.Pool | WriterTx, tokenHash: Uint8Array): Promise<void> {
  await on.query({
    name: 'delete-session',
    text: 'DELETE FROM sessions WHERE token_hash = $1',
    values: [tokenHash],
  });
}

/** Deletes some expired links and sessions. */
export async function forgetExpired(tx: WriterTx, nowMs: number): Promise<void> {
  await tx.query({
    name: 'forget-expired-sign-ins',
    text: 'SELECT forget_expired_sign_ins($1)',
    values: [new Date(nowMs)],
  });
}
