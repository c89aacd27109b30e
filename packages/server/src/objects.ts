import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codeOf } from './embedded-postgres/error-code.ts';

/** Where checkpoints, exports and archives are kept: objects by name, written once. */
export interface ObjectStore {
  /** Writes a whole object unless one of this name exists; false when it does. Durable when it resolves. */
  putIfAbsent(name: string, body: Uint8Array): Promise<boolean>;
  /** The object, or null. */
  get(name: string): Promise<Uint8Array | null>;
  /** Names below a prefix, in order. */
  list(prefix: string): Promise<string[]>;
}

/** Names are ours alone, but a store on disk must never be led out of its folder. */
function requireName(name: string): void {
  if (!/^[A-Za-z0-9_=.-]+(\/[A-Za-z0-9_=.-]+)*$/.test(name) || name.split('/').includes('..')) {
    throw new Error('not an object name');
  }
}

/** Opens the store of OBJECT_STORE_URL; today `file:` URLs. */
export function openObjectStore(url: string): ObjectStore {
  const { protocol } = new URL(url);
  if (protocol === 'file:') return fileStore(fileURLToPath(url));
  throw new Error(`OBJECT_STORE_URL starts with ${protocol}, which is not supported`);
}

function fileStore(root: string): ObjectStore {
  return {
    async putIfAbsent(name, body) {
      requireName(name);
      const path = join(root, name);
      await makeFolder(dirname(path));
      const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`;
      try {
        await writeDurably(draft, body);
        // A hard link fails when the name is taken, so the object appears whole, once, or not at all.
        await link(draft, path);
        await syncFolder(dirname(path));
        return true;
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return false;
        throw error;
      } finally {
        await rm(draft, { force: true });
      }
    },
    async get(name) {
      requireName(name);
      return readFile(join(root, name)).catch((error) => {
        if (codeOf(error) === 'ENOENT') return null;
        throw error;
      });
    },
    async list(prefix) {
      requireName(prefix);
      const names = await readdir(join(root, prefix)).catch((error) => {
        if (codeOf(error) === 'ENOENT') return [];
        throw error;
      });
      return names
        .filter((name) => !name.endsWith('.tmp'))
        .sort()
        .map((name) => `${prefix}/${name}`);
    },
  };
}

/** The names of new folders must survive a power failure too, or the objects in them are lost. */
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
