import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  formatBase64,
  formatCheckpoint,
  formatNote,
  formatVerifierKey,
  noteKeyId,
} from '@indelible/protocol';
import { archiveOf } from '@indelible/testing/archived';
import { poolEvents, recordAll } from '@indelible/testing/event-pool';
import { newFolder } from '@indelible/testing/folders';
import { rewrite } from '@indelible/testing/parquet';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import type { ArchiveManifest } from '../../../server/src/archive/manifest.ts';
import { seedSigner } from '../../../server/src/crypto/signer.ts';
import {
  adjust,
  archiveIn,
  copiedArchive,
  pathOf,
  stated,
  verifiedArchive,
} from '../testing/archive-copy.ts';
import { RunningCli, runCli } from '../testing/run-cli.ts';
import { sha } from '../verify/hashing.ts';

/* Archives of an attacker: with a key of their own, or made to hang or to fill the verifier. */

const service = await testService();
const folder = newFolder();

const tenant = await service.tenant();
await recordAll(service, tenant.key, poolEvents(40, service.clock.now, 10));
await archiveOf(service, tenant.id, { limits: { entries: 25, characters: 1e6 } });
const whole = archiveIn(service, tenant.id);

/** A copy, and the paths of its manifests in the order of the log. */
function copy(): { root: string; manifests: string[] } {
  const { root, names } = copiedArchive(whole, folder);
  const manifests = names.filter((name) => name.endsWith('.json'));
  return { root, manifests: manifests.map((name) => join(root, name)) };
}

const manifestAt = (path = ''): ArchiveManifest => JSON.parse(readFileSync(path, 'utf8'));

test('a key that is none, in whichever manifest, is a finding', async () => {
  for (const at of [0, 1]) {
    const { root, manifests } = copy();
    const manifest = manifestAt(manifests[at]);
    for (const key of manifest.keys) key.vkey = 'none';
    writeFileSync(manifests[at] ?? '', JSON.stringify(manifest));
    const { result, findings } = await verifiedArchive(root);
    expect(result).toBe('damaged');
    expect(findings.kept.map(({ message }) => message).join()).toContain('no valid keys');
  }
});

test('a part that states to have as many entries as a log can have is read to its end', async () => {
  const { root, manifests } = copy();
  const [first = '', ...others] = manifests;
  const manifest = manifestAt(first);
  for (const path of manifests) rmSync(path);
  expect(others).not.toEqual([]);
  const signer = seedSigner(Buffer.alloc(32, 1));
  const publicKey = await signer.publicKey();
  const [origin = ''] = manifest.checkpoint.split('\n');
  const last = Number.MAX_SAFE_INTEGER - 1;
  const text = formatCheckpoint({ origin, size: last + 1, root: new Uint8Array(32) });
  const signature = await signer.sign(new TextEncoder().encode(text));
  const keyId = noteKeyId(sha, origin, publicKey);
  const forged: ArchiveManifest = {
    ...manifest,
    last,
    root: formatBase64(new Uint8Array(32)),
    consistency: [],
    checkpoint: formatNote(text, [{ name: origin, keyId, signature }]),
    keys: [
      {
        vkey: formatVerifierKey(sha, origin, publicKey),
        notBefore: manifest.madeAt,
        notAfter: null,
      },
    ],
  };
  writeFileSync(join(dirname(first), `_000000000000-${last}.json`), JSON.stringify(forged));
  const { result, findings, checked } = await verifiedArchive(root);
  expect(result).toBe('damaged');
  expect(findings.byCode).toEqual({ malformed_file: 1, missing_entries: 2 });
  expect(checked).toMatchObject({ entries: 25, bodies: { bodies: 25, intact: 25 } });
});

const parts = ['_000000000000', '000-000000000024.parquet', '000-000000000024-identity.parquet'];

test('a pipe, a device or a link in the place of a file is found, and nothing else is read', async () => {
  const secret = join(folder, 'a-secret-outside');
  writeFileSync(secret, 'root:x:0:0');
  for (const part of parts) {
    for (const make of [
      (path: string) => execFileSync('mkfifo', [path]),
      (path: string) => symlinkSync('/dev/zero', path),
      (path: string) => symlinkSync(secret, path),
      (path: string) => symlinkSync(join(whole, path.slice(path.indexOf('/year='))), path),
      (path: string) => mkdirSync(path),
    ]) {
      const copied = copiedArchive(whole, folder);
      const path = pathOf(copied, part);
      rmSync(path);
      make(path);
      const { status, stdout, stderr } = await runCli(['verify', copied.root, '--json']);
      expect([status, JSON.parse(stdout).result], part).toEqual([1, 'damaged']);
      expect(stdout + stderr).not.toMatch(/root:x|a-secret-outside|indelible-archive-/);
    }
  }
});

test('links that lead in a circle are not walked', async () => {
  const copied = copiedArchive(whole, folder);
  for (const name of ['a', 'b', 'c', 'd']) {
    symlinkSync('..', join(copied.root, `tenant=${tenant.id}`, name));
  }
  expect((await verifiedArchive(copied.root)).result).toBe('intact');
});

test('a manifest or a file of gigabytes is found by its length', async () => {
  for (const part of parts) {
    const copied = copiedArchive(whole, folder);
    // Sparse: it takes no room, and every byte of it would be read as zero.
    truncateSync(pathOf(copied, part), 6_400_000_000);
    expect((await verifiedArchive(copied.root)).result, part).toBe('damaged');
  }
});

test('kilobytes of Parquet that stand for gigabytes do not fill the memory', async () => {
  const copied = copiedArchive(whole, folder);
  const path = pathOf(copied, parts[1] ?? '');
  const after = 'a'.repeat(6_000_000);
  await rewrite(path, (row) => ({ ...row, after }));
  adjust(copied, parts[0] ?? '', (json: Pick<ArchiveManifest, 'files'>) => {
    Object.assign(json.files.events, stated(path));
  });
  // On Linux maxRSS begins with that of the process that starts this one.
  const tellPeak = `import { existsSync, readFileSync } from 'node:fs';
    const own = () => /VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1];
    const peak = () => existsSync('/proc/self/status') ? own() : process.resourceUsage().maxRSS;
    process.on('exit', () => console.error(peak() / 1024))`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tellPeak)}` };
  const { stdout, stderr } = await new RunningCli(['verify', copied.root], { env }).ended();
  expect(stdout).toContain('its rows are too long for an archive part');
  expect(Number(stderr.trim().split('\n').at(-1))).toBeLessThan(300);
});
