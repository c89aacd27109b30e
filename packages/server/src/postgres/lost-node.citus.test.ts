import { on, onNodes } from '@indelible/testing/cluster';
import { nthEvent, testService } from '@indelible/testing/service';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { sha } from '../crypto/sha256.ts';
import { appendEvents } from '../record/append.store.ts';
import { record, unavailability, type WriterTx } from './db.ts';

/* Sessions of a worker that end while a transaction of the coordinator counts on them. */

const service = await testService();

/** Process ids of the sessions that this one of the coordinator has on the workers. */
async function sessionsOf(session: Pick<pg.ClientBase, 'query'>): Promise<number[]> {
  const { rows } = await session.query('SELECT citus_backend_gpid() AS own');
  const pids: number[] = [];
  await onNodes(service.ownerUrl, async (node) => {
    const find = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE '%gpid=' || $1";
    pids.push(...(await node.query(find, [rows[0].own])).rows.map(({ pid }) => pid));
  });
  expect(pids).not.toEqual([]);
  return pids;
}

/** Ends them in order: the coordinator is told. */
async function endSessionsOf(session: Pick<pg.ClientBase, 'query'>): Promise<void> {
  const pids = await sessionsOf(session);
  await onNodes(service.ownerUrl, (node) =>
    node.query('SELECT pg_terminate_backend(pid, 5000) FROM unnest($1::int[]) AS pid', [pids]),
  );
}

test('a commit that its node does not answer may be tried again', async () => {
  const { id, key } = await service.tenant();
  const body = { events: [nthEvent(0)] };
  await service.call({ method: 'POST', url: '/api/audit-logs/batch', key, body });
  await on(service.ownerUrl, async (owner) => {
    await owner.query('BEGIN');
    await owner.query(
      'UPDATE indelible.audit_events SET resource_type = resource_type WHERE tenant_id = $1',
      [id],
    );
    await endSessionsOf(owner);
    const lost = await owner.query('COMMIT').catch((error) => error);
    expect(unavailability(lost)).toBe('the database is not available');
  });
});

/** The error of a flush that finds all heads locked, and so has nothing to write. */
async function lostFlush(lose: (tx: WriterTx) => Promise<unknown>): Promise<unknown> {
  const { id } = await service.tenant();
  return record(service.db, async (tx) => {
    await tx.query({ text: 'SELECT FROM log_heads WHERE tenant_id = $1', values: [id] });
    await lose(tx);
    await appendEvents(tx, sha, [], Date.now());
  }).catch((error) => error);
}

test('a flush whose node went away may be tried again, also if it had nothing to write', async () => {
  expect(unavailability(await lostFlush(endSessionsOf))).toBe('the database is not available');
});

test('a flush whose node crashed may be tried again', async () => {
  const crash = async (tx: WriterTx) => {
    for (const pid of await sessionsOf(tx)) process.kill(pid, 'SIGKILL');
  };
  expect(unavailability(await lostFlush(crash))).toBe('the database is not available');
  const back = () => onNodes(service.ownerUrl, (node) => node.query('SELECT'));
  await expect.poll(() => back().then(() => 'back', String)).toBe('back');
});
