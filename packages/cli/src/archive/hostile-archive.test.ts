import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  formatBase64,
  formatCheckpoint,
  formatNote,
  formatVerifierKey,
  noteKeyId,
} from '@indelible/protocol';
import { expect, test } from 'vitest';
import type { ArchiveManifest } from '../../../server/src/archive/manifest.ts';
import { seedSigner } from '../../../server/src/crypto/signer.ts';
import { archiveOf } from '../../../server/src/testing/archived.ts';
import { poolEvents, recordAll } from '../../../server/src/testing/event-pool.ts';
import { newFolder } from '../../../server/src/testing/folders.ts';
import { testService } from '../../../server/src/testing/service.ts';
import { archiveIn, copiedArchive, verifiedArchive } from '../testing/archive-copy.ts';
import { sha } from '../verify/hashing.ts';

/* Archives that an attacker has written whole, with a key of their own. */

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
    ...{ last, root: formatBase64(new Uint8Array(32)), consistency: [] },
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
