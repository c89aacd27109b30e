import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from './error-code.ts';

/**
 * Reads a secret of this process: the file's text without surrounding white space.
 * Throws a sentence when it belongs to somebody else, when group or others have any access
 * (a secret others could read is no secret, so it is refused rather than repaired), or is empty.
 */
export function readSecretFile(path: string): string {
  // Opened once: what is checked is what is read, even if the name is pointed elsewhere meanwhile.
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
    const secret = readFileSync(fd, 'utf8').trim();
    if (secret === '') throw new Error(`The secret file ${path} is empty.`);
    return secret;
  } finally {
    closeSync(fd);
  }
}

/**
 * Reads the secret in `path`, made by `make` (one line of text) if the file does not exist yet.
 * Made once and whole: of two processes at the same moment one wins and both read its secret,
 * and a crash leaves either no file or the complete one. Throws as `readSecretFile`.
 */
export function readOrCreateSecretFile(path: string, make: () => string): string {
  try {
    return readSecretFile(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    writeDurably(draft, `${make()}\n`);
    // A hard link, unlike a rename, never replaces the file of a process that was faster.
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

function writeDurably(path: string, text: string): void {
  const fd = openSync(path, 'wx', 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes names created or renamed in a folder survive a power failure. */
export function syncFolder(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
