import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { syncPath } from '../postgres/embedded/copy-tree.ts';
import { codeOf, nullIfMissing } from '../postgres/embedded/error-code.ts';
import { filesBelow } from './inside-folder.ts';
import { draftSuffix, requireName, requireRange } from './object-name.ts';
import type { ByteRange, ObjectStore } from './object-store.ts';
import { untilAborted } from './until-aborted.ts';

/**
 * Objects as files below a folder, for this account only. Every object is written and synced under
 * another name first, so that a crash or a full disk leaves a draft, never half an object.
 */
export function fileStore(folder: string): ObjectStore {
  const root = resolve(folder);
  const pathOf = (name: string) => {
    requireName(name);
    return join(root, name);
  };
  /** Makes the folders of the object first. */
  const placeOf = async (name: string) => {
    const path = pathOf(name);
    await makeFolders(root, dirname(path));
    return path;
  };
  return {
    create: async () => makeRoot(root),
    putIfAbsent: async (name, body) => putIfAbsent(await placeOf(name), body),
    putStream: async (name, body, signal) => putStream(await placeOf(name), body, signal),
    getStream: async (name, range) => getStream(pathOf(name), range),
    remove: async (name) => remove(pathOf(name)),
    // A hard link never replaces a file, so only writing is tried. Folders are not made: those of
    // another account (root) would bar the service.
    probe: async () => void (await tryDraft(join(root, 'checkpoints')).catch(nullIfMissing)),
    async list(prefix, after = '') {
      const files = await filesBelow(pathOf(prefix));
      const names = files.map((name) => `${prefix}/${name}`);
      return names.filter((name) => name > after && !name.endsWith(draftSuffix)).sort();
    },
  };
}

async function putIfAbsent(path: string, body: Uint8Array): Promise<boolean> {
  return withDraft(path, async (draft) => {
    await writeFile(draft, body, { flag: 'wx', mode: 0o600, flush: true });
    try {
      // A hard link fails if the name exists: the object appears whole, once, or not at all.
      await link(draft, path);
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    }
    await syncPath(dirname(path));
    return true;
  });
}

async function putStream(path: string, body: AsyncIterable<Uint8Array>, signal?: AbortSignal) {
  return withDraft(path, async (draft) => {
    let bytes = 0;
    const file = await open(draft, 'wx', 0o600);
    try {
      for await (const chunk of untilAborted(body, signal)) {
        await file.writeFile(chunk); // where the last one ended, and whole
        bytes += chunk.byteLength;
      }
      // A full disk fails here at the latest.
      await file.sync();
    } finally {
      await file.close();
    }
    signal?.throwIfAborted();
    await rename(draft, path);
    await syncPath(dirname(path));
    return { bytes };
  });
}

async function getStream(path: string, range?: ByteRange) {
  if (range) requireRange(range);
  const file = await open(path, 'r').catch(nullIfMissing);
  if (file === null) return null;
  try {
    const { size: bytes } = await file.stat();
    if (range && range.start >= bytes) throw new RangeError('the range begins past the end');
    // The open file stays readable if the object is replaced or removed.
    return { bytes, body: file.createReadStream(range ?? {}) };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Removes an object, and drafts of crashed writers. */
async function remove(path: string): Promise<void> {
  const names = (await readdir(dirname(path)).catch(nullIfMissing)) ?? [];
  const draft = (name: string) =>
    name.startsWith(`${basename(path)}.`) && name.endsWith(draftSuffix);
  for (const name of names.filter(draft)) await rm(join(dirname(path), name), { force: true });
  await rm(path, { force: true });
  if (names.length > 0) await syncPath(dirname(path));
}

async function tryDraft(folder: string): Promise<void> {
  await withDraft(join(folder, 'probe'), (draft) => writeFile(draft, '', { flag: 'wx' }));
}

const diskFaults = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO'];

async function withDraft<T>(path: string, work: (draft: string) => Promise<T>): Promise<T> {
  const draft = `${path}.${randomBytes(6).toString('hex')}${draftSuffix}`;
  try {
    return await work(draft);
  } catch (error) {
    // An error of a write does not tell which of several disks is full.
    if (error instanceof Error && diskFaults.includes(codeOf(error) ?? ''))
      error.message += ` '${path}'`;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Never the root: objects in a folder made in place of a lost mount would be hidden later. */
async function makeFolders(root: string, folder: string): Promise<void> {
  if (folder === root) return;
  await makeFolders(root, dirname(folder));
  const isMade = await mkdir(folder, { mode: 0o700 }).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    },
  );
  if (isMade) await syncPath(dirname(folder));
}

/** Folder names must survive a power failure too, or their objects are lost. */
async function makeRoot(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) {
    await syncPath(dirname(made));
  }
}
