import {
  cpSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  createFrontier,
  formatBase64,
  formatCheckpoint,
  formatNote,
  formatVerifierKey,
  noteKeyId,
} from '@indelible/protocol';
import { archiveOf, configOf, envOf } from '@indelible/testing/archived';
import { newFolder } from '@indelible/testing/folders';
import { rewrite } from '@indelible/testing/parquet';
import { eventOf, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { sha } from '../crypto/sha256.ts';
import { seedSigner } from '../crypto/signer.ts';
import { planEntries } from '../log/sequencer.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { type ArchivedRow, entryOf } from './archived-row.ts';
import { restoreArchive } from './command.ts';
import { openPartWriter } from './draft-part.ts';
import { type ArchiveManifest, formatManifest, parseManifest } from './manifest.ts';
import { readManifest, sha256Hex, withPart } from './part-files.ts';

/* Archives that an attacker has written whole, with a key of their own, to be loaded. */

const service = await testService();
const [tenant, other] = [await service.tenant(), await service.tenant()];
for (const { id, key } of [tenant, other]) {
  for (let n = 0; n < 6; n++) {
    const sent = { method: 'POST', url: '/api/audit-logs', key, body: eventOf() } as const;
    expect((await service.call(sent)).status).toBe(201);
    service.clock.now += 1_000;
  }
  await archiveOf(service, id, { limits: { entries: 4, characters: 1e6 } });
}
const objects = openObjectStore(configOf(service).objectStoreUrl);

/** A copy of a tenant's archive, and the paths of its manifests in the order of the log. */
function copied(tenantId = tenant.id) {
  const folder = newFolder();
  const own = `tenant=${tenantId}`;
  cpSync(join(service.dataDir, 'objects/archive', own), join(folder, own), { recursive: true });
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const manifests = names.filter((name) => name.endsWith('.json'));
  const [first = '', second = ''] = manifests.map((name) => join(folder, name));
  return { folder, first, second };
}

const manifestAt = (path: string) => parseManifest(readFileSync(path));

/** Changes a manifest, or a file of it whose hash and length then fit again. */
const edit = (path: string, change: (manifest: ArchiveManifest) => Partial<ArchiveManifest>) => {
  const manifest = manifestAt(path);
  writeFileSync(path, formatManifest({ ...manifest, ...change(manifest) }));
};

const stated = (path: string) => {
  const bytes = readFileSync(path);
  return { bytes: bytes.length, sha256: sha256Hex(bytes) };
};

/** The events file of a part, after `change` has done something with its path. */
async function changeFile(manifest: string, change: (path: string) => unknown) {
  const { events, identity } = manifestAt(manifest).files;
  const path = join(dirname(manifest), events.name);
  await change(path);
  edit(manifest, () => ({ files: { events: { ...events, ...stated(path) }, identity } }));
}

/** Writes the rows of both parts anew, and signs the root that they give. */
async function forge(change: (rows: ArchivedRow[]) => ArchivedRow[]) {
  const { folder, first, second } = copied();
  const signer = seedSigner(Buffer.alloc(32, 1));
  const publicKey = await signer.publicKey();
  const [origin = ''] = manifestAt(first).checkpoint.split('\n');
  const rows: ArchivedRow[] = [];
  const store = `archive/tenant=${tenant.id}`;
  for (const path of [first, second]) {
    const name = `${store}${path.slice(join(folder, `tenant=${tenant.id}`).length)}`;
    const manifest = await readManifest(objects, name);
    await withPart({ objects, tmpDir: tmpdir() }, name, manifest, async (pages) => {
      for await (const page of pages()) rows.push(...page);
    });
  }
  const changed = change(rows);
  let head = {
    tenantId: '',
    retentionClass: 1,
    otherClasses: [],
    size: 0,
    lastReceivedUs: 0,
    frontier: new Uint8Array(),
  };
  for (const path of [first, second]) {
    const { files, last } = manifestAt(path);
    const writer = await openPartWriter();
    const own = changed.splice(0, path === first ? last + 1 : changed.length);
    for (const row of own) writer.append(row);
    const written = writer.end();
    for (const kind of ['events', 'identity'] as const)
      writeFileSync(join(dirname(path), files[kind].name), written[kind]);
    const { newSize: size, frontier } = planEntries(
      sha,
      head,
      own.map((row) => entryOf(sha, row)),
      0,
    );
    head = { ...head, size, frontier: Uint8Array.from(frontier) };
    const root = createFrontier({ size, frontier }, sha).root();
    const text = formatCheckpoint({ origin, size, root });
    const signature = await signer.sign(new TextEncoder().encode(text));
    const keyId = noteKeyId(sha, origin, publicKey);
    edit(path, ({ keys: [key] }) => ({
      root: formatBase64(root),
      consistency: [],
      checkpoint: formatNote(text, [{ name: origin, keyId, signature }]),
      keys: key ? [{ ...key, vkey: formatVerifierKey(sha, origin, publicKey) }] : [],
      files: {
        events: { name: files.events.name, ...stated(join(dirname(path), files.events.name)) },
        identity: {
          name: files.identity.name,
          ...stated(join(dirname(path), files.identity.name)),
        },
      },
    }));
  }
  return folder;
}

const swapped = <T>(list: readonly T[], a: number, b: number): T[] =>
  list.map((each, at) => (at === a ? list[b] : at === b ? list[a] : each) as T);

test('a file that the test writes without a change is loaded', async () => {
  const fresh = await testService();
  const { tenants } = await restoreArchive(envOf(fresh), await forge((rows) => rows), {});
  expect(tenants).toMatchObject([{ tenantId: tenant.id, size: 8 }]);
});

const hostile: [name: string, make: () => Promise<string>, sentence: RegExp][] = [
  ['rows in another order', () => forge((rows) => swapped(rows, 1, 2)), /not in order/],
  [
    'a row twice',
    () => forge(([first, ...rows]) => [first, first, ...rows].slice(0, 8) as ArchivedRow[]),
    /not in order/,
  ],
  [
    'entries that were received before those they follow',
    () =>
      forge((rows) =>
        rows.map((row, at) => ({
          ...row,
          receivedAtUs: swapped(rows, 4, 5)[at]?.receivedAtUs ?? 0,
        })),
      ),
    /not in order/,
  ],
  [
    'an event under two sequences',
    () =>
      forge((rows) =>
        rows.map((row, at) => ({ ...(at === 2 ? (rows[1] as ArchivedRow) : row), sequence: at })),
      ),
    /stored already|duplicate key/,
  ],
  [
    'parts under the names of one another',
    async () => {
      const { folder, first, second } = copied();
      const [a, b] = [manifestAt(first), manifestAt(second)];
      for (const kind of ['events', 'identity'] as const) {
        const [x, y] = [
          join(dirname(first), a.files[kind].name),
          join(dirname(second), b.files[kind].name),
        ];
        renameSync(x, `${x}-`);
        renameSync(y, x);
        renameSync(`${x}-`, y);
      }
      edit(first, () => ({
        files: {
          events: { ...b.files.events, name: a.files.events.name },
          identity: { ...b.files.identity, name: a.files.identity.name },
        },
      }));
      edit(second, () => ({
        files: {
          events: { ...a.files.events, name: b.files.events.name },
          identity: { ...a.files.identity, name: b.files.identity.name },
        },
      }));
      return folder;
    },
    /not in order/,
  ],
  [
    'a part twice',
    async () => {
      const { folder, first } = copied();
      cpSync(dirname(first), join(dirname(first), '../month=13'), { recursive: true });
      return folder;
    },
    /gap or a repetition|another month/,
  ],
  [
    'a file that ends early',
    async () => {
      const { folder, first } = copied();
      await changeFile(first, (path) => truncateSync(path, 500));
      return folder;
    },
    /not a part of an archive/,
  ],
  [
    'a file with another column',
    async () => {
      const { folder, first } = copied();
      await changeFile(first, (path) => rewrite(path, (row) => ({ ...row, more: 'text' })));
      return folder;
    },
    /columns that nothing proves/,
  ],
  [
    'the manifest of another tenant',
    async () => {
      const { folder, first } = copied();
      edit(first, () => ({ tenantId: other.id }));
      return folder;
    },
    /belongs to another archive part/,
  ],
  [
    'the parts of another tenant',
    async () => {
      const { folder } = copied(other.id);
      renameSync(join(folder, `tenant=${other.id}`), join(folder, `tenant=${tenant.id}`));
      return folder;
    },
    /belongs to another archive part/,
  ],
  [
    'a manifest that states other sizes',
    async () => {
      const { folder, first } = copied();
      edit(first, ({ files: { events, identity } }) => ({
        files: { identity, events: { ...events, bytes: Number.MAX_SAFE_INTEGER } },
      }));
      return folder;
    },
    /differs from its manifest/,
  ],
  ['a folder without an archive', async () => join(newFolder(), 'none'), /there is no archive/],
];

test.each(hostile)('%s: nothing is loaded, and the operator is told', async (_, make, sentence) => {
  const fresh = await testService();
  await expect(restoreArchive(envOf(fresh), await make(), {})).rejects.toThrow(sentence);
  const { rows } = await fresh.owner.query('SELECT count(*)::int AS count FROM tenants');
  expect(rows).toEqual([{ count: 0 }]);
});
