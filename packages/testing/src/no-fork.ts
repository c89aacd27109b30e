import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCheckpoint, parseNote } from '@indelible/protocol';
import { expect } from 'vitest';
import type { Backups } from './backup.ts';
import { findForks, type SeenCheckpoint } from './one-history.ts';

/**
 * No origin has two contradicting checkpoints in the rounds of these object stores on disk. They
 * are compared with the entries of the database and of every copy.
 */
export async function expectNoFork(
  backups: Pick<Backups, 'histories'>,
  ...stores: string[]
): Promise<void> {
  const published = stores.map(checkpointsIn);
  expect(published.flat(), 'no checkpoint was published').not.toEqual([]);
  expect(findForks(published, await backups.histories())).toEqual([]);
}

function checkpointsIn(store: string): SeenCheckpoint[] {
  const folder = join(store, 'checkpoints');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const { notes } = JSON.parse(readFileSync(join(folder, name), 'utf8'));
      return notes.map((note: string) => ({
        ...parseCheckpoint(parseNote(note).text),
        where: name,
      }));
    });
}
