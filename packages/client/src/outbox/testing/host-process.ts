/*
 * A host product as a separate process: it repeatedly changes a queue, each change with its event
 * in one transaction, while its relay delivers. At a given point it kills itself by `kill -9`, like
 * a power failure.
 */
import pg from 'pg';
import { createClient } from '../../index.ts';
import { createOutbox, fromPg, type PoolConnection } from '../index.ts';
import { changeEvent } from './change-event.ts';

const { DATABASE, URL = '', KEY = '', TENANT = '', QUEUE = '', POINT } = process.env;

const times = new Map<string, number>();

/** Kills the process at the third call with the chosen point. */
function reach(point: string): void {
  const count = (times.get(point) ?? 0) + 1;
  times.set(point, count);
  if (point === POINT && count === 3) process.kill(process.pid, 'SIGKILL');
}

const pool = new pg.Pool({ connectionString: DATABASE, max: 4 });
const service = createClient({ url: URL, key: KEY });
const client = {
  recordBatchTexts: async (texts: readonly string[]) => {
    reach('before send');
    const results = await service.recordBatchTexts(texts);
    reach('after send, before delete');
    return results;
  },
};

/** The pool; its connections pass the points around the relay's deletion. */
const relayPool = {
  connect: async (): Promise<PoolConnection> => {
    const connection = await pool.connect();
    const query = async (text: string, values?: unknown[]) => {
      const result = await connection.query(text, values);
      if (text.startsWith('DELETE')) reach('after delete');
      return result;
    };
    return { query, release: (error) => connection.release(error) };
  },
};

const outbox = createOutbox();
const audit = outbox.with(fromPg);
const relay = outbox.relay({ pool: relayPool, client, pollMs: 1, batchMax: 2 });
relay.start();
for (let each = 0; each < 40; each += 1) await changeOnce();

async function changeOnce(): Promise<void> {
  const tx = await pool.connect();
  await tx.query('BEGIN');
  const { rows } = await tx.query(
    'UPDATE queues SET changes = changes + 1 WHERE id = $1 RETURNING changes',
    [QUEUE],
  );
  reach('before insert');
  await audit.inTransaction(tx, changeEvent(TENANT, QUEUE, rows[0].changes));
  reach('after insert, before commit');
  await tx.query('COMMIT');
  reach('after commit');
  tx.release();
}
