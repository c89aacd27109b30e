import pg from 'pg';

/** A connection on which a transaction is open. */
export type Tx = pg.PoolClient;

/** Runs `work` in one transaction: everything it wrote is there afterwards, or nothing. */
export async function transaction<T>(pool: pg.Pool, work: (tx: Tx) => Promise<T>): Promise<T> {
  const tx = await pool.connect();
  try {
    await tx.query('BEGIN');
    const result = await work(tx);
    await tx.query('COMMIT');
    tx.release();
    return result;
  } catch (error) {
    // A connection that cannot roll back is not reused.
    await tx.query('ROLLBACK').then(
      () => tx.release(),
      (broken: Error) => tx.release(broken),
    );
    throw error;
  }
}

/** The product's own tables, and the outbox that the audit events wait in (`outboxMigration`). */
export async function openDatabase(url: string, outboxMigration: string): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  pool.on('error', () => {}); // an idle connection that broke is replaced; the next query would tell
  await pool.query(schema);
  await pool.query(outboxMigration);
  return pool;
}

const schema = `
  CREATE TABLE IF NOT EXISTS resources (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    type text NOT NULL,
    name text NOT NULL,
    state json NOT NULL,
    deleted boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, id)
  );
  CREATE TABLE IF NOT EXISTS recordings (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    agent text NOT NULL,
    caller text NOT NULL,
    started_at timestamptz NOT NULL,
    seconds int NOT NULL,
    PRIMARY KEY (tenant_id, id)
  );
  -- What the audit log service handed out, once: keep it as you keep your other secrets.
  CREATE TABLE IF NOT EXISTS audit_connections (
    tenant_id uuid PRIMARY KEY,
    own_url text NOT NULL,
    restore_secret text NOT NULL,
    webhook_secret text NOT NULL
  );
  CREATE TABLE IF NOT EXISTS audit_credentials (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    key_id text NOT NULL,
    key text NOT NULL
  );
  -- Calls may come twice; the second one is answered as the first one was.
  CREATE TABLE IF NOT EXISTS restore_answers (id text PRIMARY KEY, answer json NOT NULL);
  CREATE TABLE IF NOT EXISTS received_events (
    tenant_id uuid NOT NULL,
    sequence bigint NOT NULL,
    event json NOT NULL,
    PRIMARY KEY (tenant_id, sequence)
  );`;
