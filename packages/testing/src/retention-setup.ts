import {
  defaultCatalogue,
  defaultPlans,
  eventIdFromUuid,
  importedEventUuid,
  lateClass,
  type Plan,
  retentionCutoff,
  uuidFromEventId,
} from '@indelible/protocol';
import type pg from 'pg';
import { expect } from 'vitest';
import { type OwnerSession, withOwnerSession } from '../../server/src/postgres/db.ts';
import { recordOwnIn } from '../../server/src/record/own-events.store.ts';
import { runRetentionAs } from '../../server/src/retention/command.ts';
import {
  type RetentionDeps,
  type RetentionRun,
  runRetention,
} from '../../server/src/retention/retention.job.ts';
import { recordOne } from './event-pool.ts';
import { eventOf, type TestService } from './service.ts';

export const hour = 3_600_000;
export const day = 24 * hour;

/** The oldest time that this default plan shows. */
export function planCutoff(name: Plan, atMs: number): number {
  const plan = defaultPlans.named(name);
  if (plan === null) throw new Error(`no plan is called ${name}`);
  return retentionCutoff(plan.keeps, atMs);
}

export interface Tenant {
  id: string;
  key: string;
}

/** PostgreSQL's time in ms, by which its functions go, and the commands of operators. */
export async function databaseTime({ owner }: Pick<TestService, 'owner'>): Promise<number> {
  return (await owner.query('SELECT clock_timestamp() AS now')).rows[0].now.getTime();
}

let number = 0;

/** A published event at that time. */
export function eventAt(timeMs: number) {
  number += 1;
  const random = Buffer.from(number.toString(16).padStart(16, '0'), 'hex');
  const id = eventIdFromUuid(importedEventUuid(timeMs, 0, random));
  return { ...eventOf({ id, action: 'publish' }), id };
}

/** Does this with the service's clock at an earlier time. */
export async function at<T>(
  { clock }: TestService,
  timeMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const { now } = clock;
  clock.now = timeMs;
  try {
    return await work();
  } finally {
    clock.now = now;
  }
}

/** A tenant that existed so many days ago already: its events need not come late. */
export function tenantOf(service: TestService, plan: Plan, daysAgo: number): Promise<Tenant> {
  return at(service, service.clock.now - daysAgo * day, () => service.tenant(plan));
}

/** Records an event when it happens, if its log has nothing later; returns its id. */
export function recordAt(service: TestService, tenant: Tenant, timeMs: number): Promise<string> {
  return at(service, timeMs, () => recordLate(service, tenant, timeMs));
}

/** Records an event of that time now; returns its id. */
export async function recordLate(
  service: TestService,
  { key }: Tenant,
  timeMs: number,
): Promise<string> {
  const body = eventAt(timeMs);
  await recordOne(service, key, body);
  return body.id;
}

/**
 * Makes the partition of such an event, late or not. Only for times far from the present, for
 * which recording does not make one.
 */
export async function partitionFor(service: TestService, { id }: Tenant, timeMs: number) {
  await service.owner.query('SET ROLE indelible_owner');
  const head = 'SELECT retention_class AS class FROM log_heads WHERE tenant_id = $1';
  const { rows } = await service.owner.query(head, [id]);
  for (const each of [rows[0]?.class, lateClass]) {
    await service.owner.query('SELECT place_partition($1, $2)', [each, new Date(timeMs)]);
  }
  await service.owner.query('RESET ROLE');
}

/** Changes the tenant's plan or hold, with a reason. */
export async function change(service: TestService, { id }: Tenant, body: Record<string, unknown>) {
  const headers = { 'x-access-reason': 'contract changed' };
  const answer = await service.call({ method: 'PUT', url: `/api/tenants/${id}`, body, headers });
  expect(answer.status).toBe(200);
}

/** Most of a run's time goes into partitions that no test needs. */
const daysAhead = 0;

/** One run by the service's clock. */
export function run({ ownerUrl, clock }: TestService, changes: Partial<RetentionDeps> = {}) {
  const settings = { now: () => clock.now, daysAhead, ...changes };
  return runRetentionAs(ownerUrl, { catalogue: defaultCatalogue }, settings);
}

async function deps({ clock }: TestService, owner: OwnerSession): Promise<RetentionDeps> {
  const now = () => clock.now;
  return { now, daysAhead, recordOwn: await recordOwnIn(owner, defaultCatalogue, now) };
}

/** A run on a session that `made` makes of the owner's. */
export function runOn(
  service: TestService,
  made: (owner: OwnerSession) => OwnerSession | Promise<OwnerSession>,
  changes: Partial<RetentionDeps> = {},
): Promise<RetentionRun | null> {
  return withOwnerSession(service.ownerUrl, async (owner) => {
    const session = await made(owner);
    return runRetention(session, { ...(await deps(service, session)), ...changes });
  });
}

/** The session, which calls `before` with each statement and waits for it. */
export function watched(
  owner: OwnerSession,
  before: (statement: string) => Promise<unknown>,
): OwnerSession {
  const send = owner.query as (...statement: unknown[]) => Promise<unknown>;
  const query = async (statement: string | pg.QueryConfig, ...values: unknown[]) => {
    await before(typeof statement === 'string' ? statement : statement.text);
    return send(statement, ...values);
  };
  return { ...owner, query: query as pg.PoolClient['query'] };
}

/** A transaction that reads every partition, with what it sees, until it is told to end. */
export async function longReader({ db }: TestService) {
  const reader = await db.reader.connect();
  await reader.query(
    `BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL idle_in_transaction_session_timeout = 0;
     SELECT set_config('app.tenant_id', '', true)`,
  );
  const seen = async () => (await reader.query('SELECT count(*) AS n FROM audit_events')).rows[0].n;
  await seen();
  let ended = false;
  const end = async () => {
    if (ended) return;
    ended = true;
    await reader.query('COMMIT');
    reader.release();
  };
  return { seen, end };
}

/** Begins to detach a partition that a session reads, as an interrupted run leaves it. */
export async function beginDetaching({ owner }: TestService, name: string): Promise<void> {
  await owner.query('SET lock_timeout = 100');
  const detach = `ALTER TABLE audit_events DETACH PARTITION ${name} CONCURRENTLY`;
  await expect(owner.query(detach)).rejects.toThrow('lock timeout');
  await owner.query('RESET lock_timeout');
}

/** Two runs, a day apart: the second one uses the time of the first. */
export async function runTwice(service: TestService) {
  await run(service);
  service.clock.now += day;
  return run(service);
}

/** Ids of the tenant's published events, as its list shows them, oldest first. */
export async function listed(service: TestService, { key }: Tenant): Promise<string[]> {
  const url = '/api/audit-logs?action=publish&limit=500&order=asc';
  const { status, body } = await service.call({ url, key });
  expect(status).toBe(200);
  expect(body.pagination.hasMore).toBe(false);
  return body.data.map((event: { id: string }) => event.id);
}

/** Which of these events are stored, and in which class, even if hidden. */
export async function stored(service: TestService, ids: readonly string[]) {
  const { rows } = await service.owner.query<{ id: string; class: number }>(
    'SELECT id, retention_class AS class FROM audit_events WHERE id = ANY ($1) ORDER BY id',
    [ids.map((id) => uuidFromEventId(id))],
  );
  const classes = new Map(rows.map((row) => [row.id, row.class]));
  expect(classes.size, 'events stored twice').toBe(rows.length);
  return ids.filter((id) => classes.has(uuidFromEventId(id) ?? ''));
}

/** The name of a class's partition by day, month or year: so many digits of the date. */
export const partitionName = (retentionClass: number, ms: number, digits = 8) =>
  `audit_events_${retentionClass}_${new Date(ms).toISOString().replaceAll('-', '').slice(0, digits)}`;

/** Names of all partitions, attached or not. */
export async function partitions(service: TestService): Promise<string[]> {
  const { rows } = await service.owner.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname LIKE 'audit\\_events\\_%' ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

/** Partitions of events that are detached, or on their way to it. */
export async function detachedPartitions(service: TestService): Promise<string[]> {
  const { rows } = await service.owner.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname LIKE 'audit\\_events\\_%'
       AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = pg_class.oid AND NOT inhdetachpending)`,
  );
  return rows.map(({ name }) => name);
}

/** The log's records of removals, oldest first. */
export async function records(service: TestService, { id }: Tenant) {
  const { rows } = await service.owner.query<{
    sequence: number;
    after: { cutoff: string; size: number; count: number; policy: Plan };
  }>(
    `SELECT sequence::int, after FROM audit_events
     WHERE tenant_id = $1 AND resource_type = 'retention' AND action = 'delete'
       AND recorded_by_kind = 'service' ORDER BY sequence`,
    [id],
  );
  return rows.map(({ sequence, after }) => ({ sequence, ...after }));
}

/** The classes of the tenant's log, and of its stored events. */
export async function classesOf(service: TestService, { id }: Tenant) {
  const { rows } = await service.owner.query<{
    current: number;
    others: number[];
    lying: number[];
  }>(
    `SELECT retention_class AS current, other_classes AS others,
       ARRAY(SELECT DISTINCT retention_class FROM audit_events e WHERE e.tenant_id = h.tenant_id ORDER BY 1) AS lying
     FROM log_heads h WHERE tenant_id = $1`,
    [id],
  );
  return rows[0];
}
