import { randomBytes } from 'node:crypto';
import { databaseUrl } from '@indelible/testing/global-setup';
import pg from 'pg';
import { inject } from 'vitest';
import { createOutbox } from '../index.ts';

/** The host product's database: queues that it changes, and the outbox. */
export interface HostDatabase {
  url: string;
  pool: pg.Pool;
  close(): Promise<void>;
}

export async function hostDatabase(): Promise<HostDatabase> {
  const { ownerUrl } = inject('postgres');
  const name = `host_${randomBytes(6).toString('hex')}`;
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  await owner.query(`CREATE DATABASE ${name}`);
  const url = databaseUrl(ownerUrl, name);
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  pool.on('error', () => {}); // tests end connections
  await pool.query(createOutbox().migration);
  await pool.query('CREATE TABLE queues (id uuid PRIMARY KEY, changes integer NOT NULL)');
  return {
    url,
    pool,
    close: async () => {
      await pool.end();
      await owner.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await owner.end();
    },
  };
}
