import { eventIdFromUuid, formatTimestamp, isLate, uuidTimeMs } from '@indelible/protocol';
import {
  type ArchivedRow,
  KeyFilter,
  parseArchiveName,
  putColdPart,
  type VerifiedPart,
} from '../cold/index.ts';
import { hasState } from '../events/index.ts';
import type { ArchiveDeps } from './archived-part.ts';
import { coldFiles } from './cold.store.ts';
import type { ArchiveManifest } from './manifest.ts';
import { withPart } from './part-files.ts';

/** What searches need to know of a part. */
export class PartIndex {
  readonly #keys = new KeyFilter();
  #lowest: string | null = null;
  #highest: string | null = null;

  add({ uuid, sequence, receivedAtUs, body }: ArchivedRow): void {
    const receivedAtMs = Math.floor(receivedAtUs / 1_000);
    if (body === null || isLate(uuidTimeMs(uuid), receivedAtMs)) return;
    if (this.#lowest === null || uuid < this.#lowest) this.#lowest = uuid;
    if (this.#highest === null || uuid > this.#highest) this.#highest = uuid;
    const { event } = body;
    this.#keys.add({
      ...event,
      ...{ sequence, id: eventIdFromUuid(uuid), timestamp: formatTimestamp(uuidTimeMs(uuid)) },
      ...{ receivedAt: formatTimestamp(receivedAtMs), hasState: hasState(event) },
    });
  }

  partOf(tenantId: string, stem: string, { first, last, files }: ArchiveManifest): VerifiedPart {
    const folder = stem.slice(0, stem.lastIndexOf('/'));
    const [lowest, highest] = [this.#lowest, this.#highest];
    return { tenantId, first, last, lowest, highest, folder, files, keys: this.#keys.bytes() };
  }
}

/**
 * Lets readers use the files that the manifest names, if they use the part at all. Called before
 * the former file goes, and again after a crash.
 */
export async function relistPart(
  deps: Pick<ArchiveDeps, 'owner' | 'objects' | 'tmpDir'>,
  manifestName: string,
  manifest: ArchiveManifest,
): Promise<void> {
  const { owner } = deps;
  const { tenantId, first, files } = manifest;
  const listed = await owner((tx) => coldFiles(tx, tenantId, first));
  if (listed === null || listed === JSON.stringify(files)) return;
  const index = new PartIndex();
  await withPart(deps, manifestName, manifest, async (rows) => {
    for await (const page of rows()) for (const row of page) index.add(row);
  });
  const stem = parseArchiveName(manifestName)?.stem ?? '';
  await owner((tx) => putColdPart(tx, index.partOf(tenantId, stem, manifest)));
}
