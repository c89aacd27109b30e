import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { codeOf } from '../postgres/embedded/error-code.ts';
import { draftSuffix, requireName, requireRange } from './object-name.ts';
import type { ByteRange, ObjectStore } from './object-store.ts';
import { untilAborted } from './until-aborted.ts';

/**
 * Objects as files below a folder, for this account only. Every object is written and synced under
 * another name first, so that a crash or a full disk leaves a draft, never half an object.
 */
export function fileStore(root: string): ObjectStore {
  const pathOf = (name: string) => {
    requireName(name);
    return join(root, name);
  };
  return {
    putIfAbsent: async (name, body) => putIfAbsent(pathOf(name), body),
    putStream: async (name, body, signal) => putStream(pathOf(name), body, signal),
    get: async (name) => readFile(pathOf(name)).catch(nullIfMissing),
    getStream: async (name, range) => getStream(pathOf(name), range),
    remove: async (name) => remove(pathOf(name)),
    list: async (prefix, after = '') =>
      (await filesBelow(pathOf(prefix)))
        .map((path) => relative(root, path))
        .filter((name) => name > after),
  };
}

async function putIfAbsent(path: string, body: Uint8Array): Promise<boolean> {
  return withDraft(path, async (draft) => {
    await writeDurably(draft, body);
    try {
      // A hard link fails if the name exists: the object appears whole, once, or not at all.
      await link(draft, path);
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    }
    await syncFolder(dirname(path));
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
    await syncFolder(dirname(path));
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

/** Also removes drafts of crashed writers. */
async function remove(path: string): Promise<void> {
  const names = (await readdir(dirname(path)).catch(nullIfMissing)) ?? [];
  const draft = (name: string) =>
    name.startsWith(`${basename(path)}.`) && name.endsWith(draftSuffix);
  for (const name of names.filter(draft)) await rm(join(dirname(path), name), { force: true });
  await rm(path, { force: true });
  if (names.length > 0) await syncFolder(dirname(path));
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    nullIfMissing,
  );
  return (entries ?? [])
    .filter((entry) => !entry.isDirectory() && !entry.name.endsWith(draftSuffix))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

async function withDraft<T>(path: string, work: (draft: string) => Promise<T>): Promise<T> {
  await makeFolder(dirname(path));
  const draft = `${path}.${randomBytes(6).toString('hex')}${draftSuffix}`;
  try {
    return await work(draft);
  } finally {
    await rm(draft, { force: true });
  }
}

function nullIfMissing(error: unknown): null {
  if (codeOf(error) === 'ENOENT') return null;
  throw error;
}

/** Folder names must survive a power failure too, or their objects are lost. */
async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) {
    await syncFolder(dirname(made));
  }
}

async function writeDurably(path: string, body: Uint8Array): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(body);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
