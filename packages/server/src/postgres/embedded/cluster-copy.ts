import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { copyTree } from './copy-tree.ts';

/*
 * A copy of a cluster that is in use, as PostgreSQL's manual has it in "Making a Base Backup Using
 * the Low Level API": the embedded PostgreSQL comes without pg_basebackup. A start on the copy
 * replays its WAL, and then has everything that was committed when copying ended.
 */

/** Folders whose contents the server makes anew. */
const madeAnew = [
  ...['pg_wal', 'pg_replslot', 'pg_dynshmem', 'pg_notify', 'pg_serial', 'pg_snapshots'],
  ...['pg_stat_tmp', 'pg_subtrans'],
];
const ofTheRunningServer = /^(postmaster\.(pid|opts)|pgsql_tmp.*|pg_internal\.init.*)$/;

function isLeftOut(path: string): boolean {
  const [first = '', ...inside] = path.split('/');
  if (inside.length > 0 && madeAnew.includes(first)) return true;
  return ofTheRunningServer.test(inside.at(-1) ?? first);
}

/**
 * Copies the cluster in `data` to the new folder `target`. `client`: the administrator's, whose
 * session must last. `atEnd` is called when all files are copied, and calls `end`: what was
 * committed before that is in the copy.
 */
export async function copyRunningCluster(
  client: Pick<pg.Client, 'query'>,
  data: string,
  target: string,
  atEnd: (end: () => Promise<void>) => Promise<void>,
): Promise<void> {
  // Keeps the server from reusing the WAL of this time; it is gone with the session.
  const slot = `indelible_backup_${process.pid}`;
  await client.query('SELECT pg_create_physical_replication_slot($1, true, true)', [slot]);
  const { rows } = await client.query<{ segment: string }>(
    `SELECT pg_walfile_name(pg_backup_start('indelible backup', true)) AS segment`,
  );
  await copyTree(data, target, { isLeftOut });
  let end: BackupEnd | undefined;
  await atEnd(async () => {
    const ended = await client.query<BackupEnd>(
      `SELECT labelfile AS label, pg_walfile_name(lsn) AS segment FROM pg_backup_stop(false)`,
    );
    end = ended.rows[0];
  });
  if (end === undefined) throw new Error('PostgreSQL did not end the backup');
  await writeFile(join(target, 'backup_label'), end.label, { mode: 0o600, flush: true });
  await copyWal(join(data, 'pg_wal'), join(target, 'pg_wal'), rows[0]?.segment ?? '', end.segment);
}

interface BackupEnd {
  /** What `backup_label` must hold, without which a start takes the copy for a crashed server. */
  label: string;
  /** Name of the last file of WAL that the copy needs. */
  segment: string;
}

/** Names of segments sort in the order in which they are written. */
async function copyWal(from: string, to: string, first: string, last: string): Promise<void> {
  const isNeeded = (path: string) => /^[0-9A-F]{24}$/.test(path) && path >= first && path <= last;
  await copyTree(from, to, { isLeftOut: (path) => !isNeeded(path) });
}
