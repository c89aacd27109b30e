import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { expectLogIntact } from '@indelible/testing/intact';
import { testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import { type AuditEvent, createClient } from '../index.ts';
import { createOutbox, fromPg } from './index.ts';
import { changeEvent } from './testing/change-event.ts';
import { hostDatabase } from './testing/host-database.ts';

/* The host is killed between each pair of steps from a change to its event in the log. */

const service = await testService();
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });
const host = await hostDatabase();
afterAll(() => host.close());

const program = join(import.meta.dirname, 'testing/host-process.ts');

interface Host {
  tenantId: string;
  key: string;
  queueId: string;
}

async function newHost(): Promise<Host> {
  const { id, key } = await service.tenant();
  const queueId = randomUUID();
  await host.pool.query('INSERT INTO queues VALUES ($1, 0)', [queueId]);
  return { tenantId: id, key, queueId };
}

/** Runs the host until it dies at a point; resolves with the signal that ended it. */
async function die({ tenantId, key, queueId }: Host, point: string): Promise<NodeJS.Signals> {
  const env = { DATABASE: host.url, URL: url, KEY: key, TENANT: tenantId, QUEUE: queueId };
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env.PATH, ...env, POINT: point },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [, signal] = await once(child, 'exit');
  return signal;
}

/** The host as it goes on in another process, this one: some more changes, and its relay. */
async function goOn({ tenantId, key, queueId }: Host, first: number, last: number) {
  const outbox = createOutbox();
  for (let change = first; change <= last; change += 1) {
    const event = changeEvent(tenantId, queueId, change);
    await outbox.with(fromPg).inTransaction(host.pool, event);
  }
  const relay = outbox.relay({ pool: host.pool, client: createClient({ url, key }) });
  await relay.drain();
  return relay.backlog();
}

/** What the log holds of the queue's changes, in the log's order. */
async function recordedChanges({ key, queueId }: Host): Promise<unknown[]> {
  const found: AuditEvent[] = [];
  const query = { resourceId: queueId, sort: 'sequence', order: 'asc' } as const;
  for await (const event of createClient({ url, key }).list(query)) found.push(event);
  return found.map(({ diff }) => diff.changes?.to);
}

/** Waits for a COMMIT that the host had sent: it may end after the host. */
async function committedChanges({ queueId }: Host): Promise<number> {
  const sql = 'SELECT changes FROM queues WHERE id = $1 FOR UPDATE';
  const { rows } = await host.pool.query(sql, [queueId]);
  return rows[0].changes;
}

const countingTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

test.each([
  ['before insert', 2],
  ['after insert, before commit', 2],
  ['after commit', 3],
  ['before send', null],
  ['after send, before delete', null],
  ['after delete', null],
])(
  'a host killed %s loses no event, records none twice, and keeps their order',
  async (point, committed) => {
    const killed = await newHost();
    expect(await die(killed, point)).toBe('SIGKILL');
    const before = await committedChanges(killed);
    if (committed !== null) expect(before).toBe(committed);
    expect(await goOn(killed, before + 1, before + 3)).toEqual({ due: 0, rejected: 0 });
    expect(await recordedChanges(killed)).toEqual(countingTo(before + 3));
    await expectLogIntact(service, killed.tenantId);
  },
);
