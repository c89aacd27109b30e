import { dirname } from 'node:path';
import {
  equalBytes,
  eventIdFromUuid,
  formatTimestamp,
  isLate,
  type Sha256,
  uuidFromBytes,
  uuidTimeMs,
} from '@indelible/protocol';
import { type ArchivedRow, entryOf } from '../cold/archived-row.ts';
import { KeyFilter } from '../cold/key-filter.ts';
import { parseArchiveName } from '../cold/layout.ts';
import { putColdPart } from '../cold/store.ts';
import { hasState } from '../events/prepared-event.ts';
import { readEntriesOf } from '../log/store.ts';
import type { WriterTx } from '../postgres/db.ts';
import { storedAmong } from '../words/store.ts';
import type { ArchiveDeps } from './archived-part.ts';
import { coldFiles } from './cold.store.ts';
import type { ArchiveManifest } from './manifest.ts';
import { ArchiveConflict, withPart } from './part-files.ts';

/** What searches need to know of a part. */
function partIndex() {
  const keys = new KeyFilter();
  const range: { lowest: string | null; highest: string | null } = { lowest: null, highest: null };
  return {
    add({ uuid, sequence, receivedAtUs, body }: ArchivedRow): void {
      const receivedAtMs = Math.floor(receivedAtUs / 1_000);
      if (body === null || isLate(uuidTimeMs(uuid), receivedAtMs)) return;
      if (range.lowest === null || uuid < range.lowest) range.lowest = uuid;
      if (range.highest === null || uuid > range.highest) range.highest = uuid;
      const { event } = body;
      keys.add({
        ...event,
        ...{ sequence, id: eventIdFromUuid(uuid), timestamp: formatTimestamp(uuidTimeMs(uuid)) },
        ...{ receivedAt: formatTimestamp(receivedAtMs), hasState: hasState(event) },
      });
    },
    end: () => ({ ...range, keys: keys.bytes() }),
  };
}

type PartDeps = Pick<ArchiveDeps, 'owner' | 'objects' | 'tmpDir' | 'sha'>;

/**
 * Lets readers use a part, after each of its rows was compared with the log: who can write to the
 * object store must not change what searches show. Throws ArchiveConflict if it differs.
 */
export async function listPart(
  deps: PartDeps,
  manifestName: string,
  manifest: ArchiveManifest,
): Promise<void> {
  const { tenantId, first, last } = manifest;
  const name = parseArchiveName(manifestName);
  const isNamed = name?.tenantId === tenantId && name.first === first && name.last === last;
  if (!isNamed) throw differs(manifestName, 'its manifest is that of another part');
  const index = partIndex();
  let next = first;
  await withPart(deps, manifestName, manifest, async (rows) => {
    for await (const page of rows()) {
      await deps.owner((tx) =>
        requireSame(tx, deps.sha, { tenantId, stem: name.stem, next }, page),
      );
      for (const row of page) index.add(row);
      next += page.length;
    }
  });
  if (next !== last + 1) throw differs(name.stem, 'it lacks rows');
  const folder = dirname(name.stem);
  const { files } = manifest;
  await deps.owner((tx) =>
    putColdPart(tx, { tenantId, first, last, folder, files, ...index.end() }),
  );
}

/** The rows are the entries of the log from `next` on, each with its event if that is stored. */
async function requireSame(
  tx: WriterTx,
  sha: Sha256,
  { tenantId, stem, next }: { tenantId: string; stem: string; next: number },
  rows: readonly ArchivedRow[],
): Promise<void> {
  const entries = await readEntriesOf(tx, tenantId, next, next + rows.length);
  rows.forEach((row, at) => {
    const entry = entries[at];
    const isWhole = row.body === null || row.commitment === null;
    const isSame = row.sequence === next + at && entry && equalBytes(entryOf(sha, row), entry);
    if (!isWhole || !isSame) throw differs(stem, `its row ${next + at} differs from the log`);
  });
  const without = entries.filter((_, at) => rows[at]?.body === null);
  const uuids = without.map((entry) => uuidFromBytes(entry, 12));
  const [stored] = await storedAmong(tx, tenantId, uuids);
  if (stored === undefined) return;
  throw differs(
    stem,
    `it lacks the event ${eventIdFromUuid(stored)}, which the plan hid when the part was made, or ` +
      'which was taken from its files. Events from there on stay in PostgreSQL until retention has ' +
      'removed that one',
  );
}

function differs(stem: string, why: string): ArchiveConflict {
  return new ArchiveConflict(`no events are read from the archive part ${stem}: ${why}`);
}

/**
 * Lets readers use the files that the manifest names, if they use the part at all. Called before
 * the former file goes, and again after a crash.
 */
export async function relistPart(
  deps: PartDeps,
  manifestName: string,
  manifest: ArchiveManifest,
): Promise<void> {
  const { tenantId, first, files } = manifest;
  const listed = await deps.owner((tx) => coldFiles(tx, tenantId, first));
  if (listed !== null && listed !== JSON.stringify(files))
    await listPart(deps, manifestName, manifest);
}
