import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../http/problem.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { ColdFile } from './store.ts';

/** A copy must not keep values that were erased in the archive. */
const keptMs = 86_400_000;

/** Each copy is an open file of the process. */
const copiesMax = 512;

interface Copy {
  hash: string;
  bytes: number;
  readers: number;
  file: Promise<FileHandle>;
  expiry: NodeJS.Timeout;
}

/**
 * Local copies of objects by their hash, so that a copy is never out of date. A copy is a file
 * without a name: its bytes are gone when it is closed, and when the process ends in any way. It is
 * closed after a day, and earlier to make room, but never while it is read.
 */
export function keepCopies(objects: ObjectStore, folder: string, bytesMax: number) {
  /** By hash; those not used for the longest time come first. */
  const copies = new Map<string, Copy>();
  const emptied = emptyOnce(folder);

  function take(file: ColdFile): Copy {
    const copy = copies.get(file.sha256) ?? begin(file);
    copy.readers += 1;
    copies.delete(copy.hash);
    copies.set(copy.hash, copy);
    return copy;
  }

  function begin(file: ColdFile): Copy {
    const copy: Copy = {
      hash: file.sha256,
      bytes: file.bytes,
      readers: 0,
      file: fetchUnnamed(objects, emptied, file).catch((error: unknown) => {
        // The next read tries again.
        remove(copy);
        throw unreadable(error);
      }),
      expiry: setTimeout(() => remove(copy), keptMs).unref(),
    };
    return copy;
  }

  function makeRoom(): void {
    const all = [...copies.values()];
    let bytes = all.reduce((sum, copy) => sum + copy.bytes, 0);
    for (const copy of all) {
      if (bytes <= bytesMax && copies.size <= copiesMax) return;
      if (copy.readers > 0) continue;
      bytes -= copy.bytes;
      remove(copy);
    }
  }

  function remove(copy: Copy): void {
    clearTimeout(copy.expiry);
    if (copies.get(copy.hash) === copy) copies.delete(copy.hash);
    closeUnread(copy);
  }

  return {
    /**
     * Runs `work` with paths of copies, which stay until it has ended. Throws `archive_unavailable`
     * while the object store does not answer.
     */
    async reading<T>(
      files: readonly ColdFile[],
      work: (paths: readonly string[]) => Promise<T>,
    ): Promise<T> {
      const taken = files.map(take);
      try {
        makeRoom();
        const opened = await Promise.all(taken.map(({ file }) => file));
        return await work(opened.map(({ fd }) => `/dev/fd/${fd}`));
      } finally {
        for (const copy of taken) {
          copy.readers -= 1;
          if (copies.get(copy.hash) !== copy) closeUnread(copy);
        }
        makeRoom();
      }
    },
    /** Closes all that are not being read. */
    clear: () => [...copies.values()].forEach(remove),
  };
}

/** The last reader closes a copy that was removed while it was read. */
function closeUnread({ readers, file }: Copy): void {
  if (readers > 0) return;
  // Readers were told why a fetch failed. A file that cannot be closed ends the process.
  void file.then(
    (handle) => handle.close(),
    () => {},
  );
}

/**
 * Gives the folder, at first emptied: a process that was killed between two system calls has left a
 * file with a name.
 */
function emptyOnce(folder: string): () => Promise<string> {
  let emptied: Promise<string> | undefined;
  const empty = async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const name of await readdir(folder)) await rm(join(folder, name), { force: true });
    return folder;
  };
  return () => {
    emptied ??= empty().catch((error: unknown) => {
      emptied = undefined; // the next read tries again
      throw error;
    });
    return emptied;
  };
}

async function fetchUnnamed(
  objects: ObjectStore,
  folder: () => Promise<string>,
  { name, bytes, sha256 }: ColdFile,
): Promise<FileHandle> {
  const path = join(await folder(), randomUUID());
  const handle = await open(path, 'wx+', 0o600);
  try {
    await rm(path, { force: true }); // another process may have emptied the folder
    const found = await objects.getStream(name);
    if (found === null) throw new Error(`${name} is not in the object store`);
    if (found.bytes !== bytes) {
      // The copy of a longer one would fill the disk.
      found.body.destroy();
      throw new Error(`${name} is not as long as it was`);
    }
    const digest = createHash('sha256');
    for await (const chunk of found.body) {
      digest.update(chunk);
      await handle.appendFile(chunk);
    }
    if (digest.digest('hex') !== sha256)
      throw new Error(`${name} is not the file that was verified`);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function unreadable(error: unknown): AppError {
  const sentence =
    'older events are in the object store, which cannot be read at the moment; ' +
    'retry later, or ask for newer events only';
  const why = error instanceof Error ? error.message : String(error);
  return new AppError('archive_unavailable', sentence, {
    headers: { 'retry-after': '1' },
    finding: `the archive cannot be read: ${why}`,
  });
}
