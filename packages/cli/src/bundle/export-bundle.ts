import { type IndelibleClient, IndelibleError } from '@indelible/client';
import {
  type Findings,
  type Plan,
  tilePath,
  timestampOrNull,
  type WithholdableSegment,
} from '@indelible/protocol';
import { FindingError } from '../io.ts';
import { Reading } from '../verify/entry-file.ts';
import { readEntries } from '../verify/log-entries.ts';
import type { Progress, TileSource } from '../verify/log-source.ts';
import { checkpointOf, newestCheckpoint, serviceTiles } from '../verify/service-log.ts';
import type { SignedCheckpoint } from '../verify/trusted-checkpoint.ts';
import { writeSums } from './checksums.ts';
import { requireNothingErasedMeanwhile, writeEvents } from './export-events.ts';
import { bundleFiles, bundleFormat, type Manifest } from './manifest.ts';
import { PartFolder } from './part-folder.ts';
import { readmeText } from './readme.ts';

interface ExportOptions {
  tenantId: string;
  /** The folder to create; it must not exist. */
  folder: string;
  withhold: readonly WithholdableSegment[];
  /** The clock for the bundle's date; default: the machine's. */
  now?: () => number;
  progress: Progress;
}

export interface Exported {
  manifest: Manifest;
  /** Problems of the entries. Verifying the bundle shows whether the events match them. */
  findings: Findings;
}

/**
 * Writes a bundle of everything that the latest checkpoint covers and the plan shows. An
 * interrupted export continues, with its first checkpoint. The client must be bound to the tenant.
 * Throws UsageError for an existing folder, FindingError for an unsigned checkpoint or events
 * erased meanwhile, and the client's errors.
 */
export async function exportBundle(
  client: IndelibleClient,
  options: ExportOptions,
): Promise<Exported> {
  const { tenantId, folder, progress } = options;
  const withheld = [...new Set(options.withhold)].sort();
  const part = new PartFolder(folder, { tenantId, withheld });
  const reading = new Reading(progress);
  const { findings } = reading;
  try {
    const signed = await signedCheckpoint(client, part, findings);
    await writeEntries(reading, part, serviceTiles(client, signed), signed);
    const { checkpoint } = signed;
    const newer = await writeEvents(client, part, { checkpoint, withheld, progress });
    requireNothingErasedMeanwhile(part, withheld, newer);
    const plan = await planOf(client, tenantId);
    const madeAt = new Date(options.now?.() ?? Date.now()).toISOString();
    const manifest = writeRest(part, { tenantId, withheld, signed, plan, madeAt });
    part.finish();
    return { manifest, findings };
  } finally {
    part.close();
    reading.close();
  }
}

/** The checkpoint with which this export began, else the latest one. */
async function signedCheckpoint(client: IndelibleClient, part: PartFolder, findings: Findings) {
  const { checkpoint, keys } = bundleFiles;
  const note = part.has(checkpoint) ? part.read(checkpoint) : await newestCheckpoint(client);
  const signed = await checkpointOf(note, client, [], findings);
  if (signed === null) throw new FindingError(findings.kept()[0]?.message ?? 'no checkpoint');
  const stated = await client.log.keys(signed.checkpoint.origin);
  part.write(keys, `${JSON.stringify(stated, null, 1)}\n`);
  part.write(checkpoint, note);
  return signed;
}

/**
 * Stores every tile as served, except the lowest hash tiles: the service computes those from the
 * entries.
 */
async function writeEntries(
  reading: Reading,
  part: PartFolder,
  source: TileSource,
  { checkpoint }: SignedCheckpoint,
) {
  await readEntries(reading, {
    source: keptTiles(source, part),
    checkpoint,
    onTile(level, index, width, bytes) {
      const path = tilePath(level, index, width);
      if (level === 0 && !part.has(path)) part.write(path, bytes);
    },
  });
}

/** Tiles of another source; each is requested once and then stored. */
function keptTiles(source: TileSource, part: PartFolder): TileSource {
  return {
    ...source,
    async tile(path) {
      if (part.has(path)) return part.read(path);
      const bytes = await source.tile(path);
      if (bytes !== null) part.write(path, bytes);
      return bytes;
    },
  };
}

/** The tenant's plan, if the key may read it. */
async function planOf(client: IndelibleClient, tenantId: string): Promise<Plan | null> {
  try {
    return (await client.tenants.get(tenantId)).plan;
  } catch (error) {
    if (error instanceof IndelibleError && error.code === 'forbidden') return null;
    throw error;
  }
}

type Told = Pick<Manifest, 'tenantId' | 'withheld' | 'plan' | 'madeAt'> & {
  signed: SignedCheckpoint;
};

function writeRest(part: PartFolder, { signed, ...told }: Told): Manifest {
  const { origin, size } = signed.checkpoint;
  const { cutoffMs, events } = part.done;
  const manifest = {
    format: bundleFormat,
    origin,
    size,
    filter: {},
    range: { from: null, to: null },
    ...told,
    cutoff: timestampOrNull(cutoffMs),
    counts: { entries: size, events },
  } as const;
  part.write(bundleFiles.readme, readmeText(manifest));
  part.write(bundleFiles.retention, `${JSON.stringify(part.done.removals, null, 1)}\n`);
  const whole = { ...manifest, sha256: writeSums(part, size) };
  part.write(bundleFiles.manifest, `${JSON.stringify(whole, null, 1)}\n`);
  return whole;
}
