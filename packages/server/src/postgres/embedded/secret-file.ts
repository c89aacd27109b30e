import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from './error-code.ts';

/**
 * Reads a secret of this process, without surrounding white space. Throws a sentence if it is
 * empty, belongs to another account, or group or others have any access (it is refused instead of
 * repaired, because it may be known already).
 */
export function readSecretFile(path: string): string {
  // Opened once, so that the checked file is the one that is read.
  const fd = openSync(path, 'r');
  try {
    const { mode, uid } = fstatSync(fd);
    if (uid !== process.getuid?.()) {
      throw new Error(`The secret file ${path} belongs to another user (uid ${uid}).`);
    }
    if ((mode & 0o077) !== 0) {
      const found = (mode & 0o777).toString(8).padStart(4, '0');
      throw new Error(
        `The secret file ${path} is open to others (mode ${found}): chmod it to 0600.`,
      );
    }
    const secret = readBounded(fd).trim();
    if (secret === '') throw new Error(`The secret file ${path} is empty.`);
    return secret;
  } finally {
    closeSync(fd);
  }
}

const fileBytesMax = 2 ** 20;

/**
 * The text of a file or pipe of at most 1 MiB. RangeError for a larger one: `/dev/zero` or a dump
 * named by mistake would fill the memory and never end.
 */
export function readSmallFile(path: string): string {
  const fd = openSync(path, 'r');
  try {
    return readBounded(fd);
  } finally {
    closeSync(fd);
  }
}

function readBounded(fd: number): string {
  const buffer = Buffer.alloc(fileBytesMax + 1);
  let size = 0;
  while (size <= fileBytesMax) {
    const read = readSync(fd, buffer, size, buffer.length - size, null);
    if (read === 0) return buffer.toString('utf8', 0, size);
    size += read;
  }
  throw new RangeError('the file is larger than 1 MiB');
}

/**
 * Reads the secret in `path`; `make` creates it (one line of text) if the file does not exist.
 * Atomic: of two concurrent processes one wins and both read its secret; a crash leaves no file or
 * the complete one. Throws like `readSecretFile`.
 */
export function readOrCreateSecretFile(path: string, make: () => string): string {
  try {
    return readSecretFile(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    writeFileSync(draft, `${make()}\n`, { flag: 'wx', mode: 0o600, flush: true });
    // A hard link, unlike a rename, never replaces the file of a faster process.
    linkSync(draft, path);
    syncFolder(dirname(path));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
  return readSecretFile(path);
}

/** 192 random bits, safe in a URL and in a shell. */
export function randomPassword(): string {
  return randomBytes(24).toString('base64url');
}

/** Makes new and renamed names in a folder survive a power failure. */
export function syncFolder(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
