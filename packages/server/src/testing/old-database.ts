import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { inject } from 'vitest';
import { migrate } from '../postgres/migrate.ts';
import { databaseUrl } from './global-setup.ts';

/** A database of an older release. */
export interface OldDatabase {
  /** Acts as the owner of the schema. */
  owner: pg.Client;
  /** Migrates it; returns the applied migrations. */
  migrate(): Promise<string[]>;
  close(): Promise<void>;
}

const folder = new URL('../../migrations/', import.meta.url);

/** A new database with every migration before this one, by name. */
export async function databaseBefore(migration: string): Promise<OldDatabase> {
  const { ownerUrl, servingUrl } = inject('postgres');
  const name = `old_${randomBytes(6).toString('hex')}`;
  const cluster = new pg.Client({ connectionString: ownerUrl });
  await cluster.connect();
  await cluster.query(`CREATE DATABASE ${name}`);
  const owner = new pg.Client({ connectionString: databaseUrl(ownerUrl, name) });
  await owner.connect();
  await owner.query(`CREATE SCHEMA indelible AUTHORIZATION indelible_owner; SET ROLE indelible_owner;
    SET search_path = indelible; CREATE TABLE migrations
      (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`);
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql') && file < migration);
  for (const file of files.sort()) {
    await owner.query(readFileSync(new URL(file, folder), 'utf8'));
    await owner.query('INSERT INTO migrations (name) VALUES ($1)', [file]);
  }
  return {
    owner,
    migrate: () => migrate(databaseUrl(ownerUrl, name), databaseUrl(servingUrl, name)),
    async close() {
      await owner.end();
      await cluster.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await cluster.end();
    },
  };
}
