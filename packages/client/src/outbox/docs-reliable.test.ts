import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testService } from '@indelible/testing/service';
import type { PoolClient } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { type AuditEvent, createClient } from '../index.ts';
import { hostDatabase } from './testing/host-database.ts';

/*
 * The code of docs/reliable-recording.md, as it stands there, against a real service and database.
 */

const root = join(import.meta.dirname, '../../../..');
mkdirSync(join(root, '.cache'), { recursive: true });
// Below the repository, so that it finds the package.
const folder = mkdtempSync(join(root, '.cache/reliable-'));
const text = readFileSync(join(root, 'docs/reliable-recording.md'), 'utf8');
const blocks = [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);

const service = await testService();
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });
const host = await hostDatabase();
const { id: tenantId, key } = await service.tenant();
const client = createClient({ url, key });
const ana = { id: randomUUID(), email: 'ana@example.com', role: 'admin' };

afterAll(async () => {
  rmSync(folder, { recursive: true });
  await host.close();
});

async function moduleOf(block: number) {
  const path = join(folder, `block-${block}.js`);
  const code = blocks[block] ?? '';
  writeFileSync(path, code.replace('/var/lib/my-product/audit-spool', join(folder, 'spool')));
  return import(path);
}

async function recorded(resourceId: string): Promise<AuditEvent[]> {
  const events: AuditEvent[] = [];
  for await (const event of client.list({ resourceId })) events.push(event);
  return events;
}

test('the documented recorder records', async () => {
  const { recorderFor, recordLogin } = await moduleOf(0);
  const fail = (...what: unknown[]) => expect.unreachable(JSON.stringify(what));
  const recorder = recorderFor(client, { error: fail, warn: fail });
  const sessionId = randomUUID();
  const id = recordLogin(recorder, tenantId, ana, { ip: '192.0.2.7', headers: {}, sessionId });
  await recorder.close();
  expect(await recorded(sessionId)).toMatchObject([{ id, action: 'login', actor: ana }]);
});

test('the documented outbox commits the change with its event, and its relay delivers it', async () => {
  const { renameQueue, startRelay, migration } = await moduleOf(1);
  await host.pool.query(migration);
  await host.pool.query('ALTER TABLE queues ADD name text');
  const queue = { id: randomUUID(), name: 'Sales' };
  await host.pool.query('INSERT INTO queues VALUES ($1, 0, $2)', [queue.id, queue.name]);
  await renameQueue(host.pool, tenantId, ana, queue, 'Support');
  const relay = startRelay(host.pool, client);
  await relay.drain();
  await relay.stop();
  const [event] = await recorded(queue.id);
  expect(event?.diff).toEqual({ name: { from: 'Sales', to: 'Support' } });
});

test('the permissions that the page names are enough, and the table it names is the default', async () => {
  const { outbox, audit } = await moduleOf(1);
  await host.pool.query(outbox.migration);
  const role = `relay_${randomUUID().slice(0, 8)}`;
  const grants = [...text.matchAll(/^GRANT (.*) TO my_(.*);$/gm)];
  const connection = await host.pool.connect();
  try {
    await connection.query(`CREATE ROLE ${role}`);
    const become = async (login: string) => {
      await connection.query('RESET ROLE');
      await connection.query(`DROP OWNED BY ${role}`);
      for (const [, what] of grants.filter(([, , whom]) => whom === login)) {
        await connection.query(`GRANT ${what} TO ${role}`);
      }
      await connection.query(`SET ROLE ${role}`);
    };
    await become('product');
    const resource = { type: 'queue', id: randomUUID() };
    await audit.inTransaction(connection, { tenantId, actor: ana, action: 'update', resource });
    await become('relay');
    // One connection does everything that the relay does.
    const pool = { connect: async () => ({ ...onlyQuery(connection), release: () => {} }) };
    await outbox.relay({ pool, client }).drain();
    expect(await recorded(resource.id)).toHaveLength(1);
  } finally {
    await connection.query('RESET ROLE');
    await connection.query(`DROP OWNED BY ${role}`);
    await connection.query(`DROP ROLE ${role}`);
    connection.release();
  }
});

function onlyQuery(connection: PoolClient) {
  return { query: (text: string, values?: unknown[]) => connection.query(text, values) };
}
