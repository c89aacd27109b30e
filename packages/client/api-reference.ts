/**
 * Writes docs/api from the types and comments of the client's entry points, and beside it the
 * digest of the declarations it was written from: a test compares that with the code, because
 * writing takes longer.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildClient } from './build.ts';

/** Where the reference is, and in it the digest. */
export const referenceFolder = join(import.meta.dirname, '../../docs/api');
export const digestFile = join(referenceFolder, 'declarations.sha256');

/** Of all declarations of a built package, hexadecimal: they hold every type and every comment. */
export function declarationsDigest(built: string): string {
  const files = readdirSync(built, { recursive: true, encoding: 'utf8' });
  const hash = createHash('sha256');
  for (const file of files.filter((each) => each.endsWith('.d.ts')).sort()) {
    hash.update(`${file}\0${readFileSync(join(built, file), 'utf8')}\0`);
  }
  return hash.digest('hex');
}

function writeReference(): void {
  const typedoc = join(import.meta.dirname, 'node_modules/typedoc/bin/typedoc');
  const { status } = spawnSync(process.execPath, [typedoc, '--options', 'typedoc.json'], {
    cwd: import.meta.dirname,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('typedoc has failed');
  const folder = mkdtempSync(join(tmpdir(), 'indelible-api-'));
  const client = join(folder, 'client');
  buildClient({ protocol: join(folder, 'protocol'), client });
  writeFileSync(digestFile, `${declarationsDigest(client)}\n`);
  rmSync(folder, { recursive: true });
}

if (import.meta.main) writeReference();
