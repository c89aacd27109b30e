import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject, onTestFinished } from 'vitest';
import { databaseUrl } from './global-setup.ts';

/** A new database for one test: a connection of its owner, and the environment that names it. */
export async function emptyDatabase() {
  const cluster = inject('postgres');
  const name = `empty_${randomBytes(6).toString('hex')}`;
  const admin = new pg.Client({ connectionString: cluster.ownerUrl });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  const owner = new pg.Client({
    connectionString: databaseUrl(cluster.ownerUrl, name),
    options: '-c search_path=indelible',
  });
  await owner.connect();
  onTestFinished(async () => {
    await owner.end();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  });
  const DATABASE_URL = databaseUrl(cluster.servingUrl, name);
  return { owner, env: { DATABASE_URL, DATABASE_OWNER_URL: databaseUrl(cluster.ownerUrl, name) } };
}
