import {
  type Checkpoint,
  createTileMaker,
  EntryPass,
  type Findings,
  FormatError,
  type LogState,
  type OnSubtree,
  type OnTile,
  parseEntryTile,
  tileFinding,
  tilePath,
  tileWidth,
} from '@indelible/protocol';
import { CompactRange } from './compact-range.ts';
import { addDamage, changing } from './damage.ts';
import type { EntryFile } from './entry-file.ts';
import { sha } from './hashing.ts';
import { inOrder } from './in-order.ts';
import type { Progress, TileSource } from './log-source.ts';

export interface EntriesWanted {
  source: TileSource;
  checkpoint: Checkpoint;
  /** Checkpoints of the same leaves that were seen before, no larger than `checkpoint`. */
  earlier: readonly Checkpoint[];
  findings: Findings;
  /** Keeps the entries for the bodies that are held against them. */
  file: EntryFile;
  progress: Progress;
  /** Sees every hash tile that the entries give; `bytes` is reused for the next one. */
  onTile?: OnTile;
}

export interface EntriesRead {
  /** Hash tiles that were compared with those the entries give. */
  tiles: number;
  /** The tree over the entries that were read. */
  state: LogState;
}

interface Tile {
  level: number;
  index: number;
  width: number;
  bytes: Uint8Array;
}

/**
 * Reads every entry up to the checkpoint, recomputes the tree and compares root, earlier roots and the
 * hash tiles as they are kept. What is wrong goes to the findings; `file` has the entries then, or
 * those before the first that cannot be had.
 */
export async function readEntries(wanted: EntriesWanted): Promise<EntriesRead> {
  const { source, checkpoint, file, progress } = wanted;
  const computed: Tile[] = [];
  const maker = createTileMaker((level, index, width, bytes) => {
    wanted.onTile?.(level, index, width, bytes);
    if (level >= source.lowestKeptLevel)
      computed.push({ level, index, width, bytes: bytes.slice() });
  });
  const range = new CompactRange();
  const onSubtree: OnSubtree = (level, index, hash) => {
    maker.onSubtree(level, index, hash);
    range.onSubtree(level, index, hash);
  };
  const pass = entryPass(wanted, onSubtree);
  let tiles = 0;
  const compare = async () => {
    for (const tile of computed.splice(0)) tiles += await compareTile(wanted, tile);
  };
  progress.stage('entries', checkpoint.size);
  for await (const entries of entryTiles(wanted)) {
    pass.add(entries);
    file.append(entries);
    await compare();
    progress.advance(entries.length / 60);
  }
  maker.finish();
  // What lies behind a gap cannot be judged, and would only repeat it.
  if (pass.size === checkpoint.size) await compare();
  pass.finish();
  return { tiles, state: range.state(pass.size) };
}

/** The pass over entries; it also says between which two earlier checkpoints they part. */
function entryPass(
  { checkpoint, earlier, findings }: EntriesWanted,
  onSubtree: OnSubtree,
): EntryPass {
  const sizes = earlier.map(({ size }) => size);
  const bracketed = changing(findings, (finding) => {
    const isFirst = !findings.countByCode().earlier_root_mismatch;
    if (finding.code !== 'earlier_root_mismatch' || !isFirst) return finding;
    // Told at the very size whose root is another one: all smaller ones have agreed.
    const agreed = Math.max(0, ...sizes.filter((size) => size < pass.size));
    const where = ` The first that differs is one of the entries ${agreed} to ${pass.size - 1}.`;
    return { ...finding, sequence: agreed, message: finding.message + where };
  });
  const pass = new EntryPass({ sha, findings: bracketed, checkpoint, earlier, onSubtree });
  return pass;
}

/** The entries of each tile in order, until the first that cannot be had. */
async function* entryTiles({ source, checkpoint, findings }: EntriesWanted) {
  const count = Math.ceil(checkpoint.size / tileWidth);
  const widthOf = (index: number) => Math.min(tileWidth, checkpoint.size - index * tileWidth);
  const get = (index: number) => source.tile(tilePath('entries', index, widthOf(index)));
  let index = 0;
  for await (const bytes of inOrder(count, source.tilesAtOnce, get)) {
    const entries = bytes && entriesOf(bytes, widthOf(index), index, findings);
    if (!entries) {
      if (bytes === null) yield* longestPart(source, index, widthOf(index));
      return;
    }
    yield entries;
    index += 1;
  }
}

function entriesOf(bytes: Uint8Array, width: number, index: number, findings: Findings) {
  try {
    return parseEntryTile(bytes, width);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const message = `The entry tile ${index} cannot be read: ${error.message}.`;
    addDamage(findings, 'malformed_tile', message, { sequence: index * tileWidth });
    return null;
  }
}

/** As many entries of a tile that is incomplete as there are without a gap: shows where it begins. */
async function* longestPart(source: TileSource, index: number, width: number) {
  let best: Uint8Array | null = null;
  let [served, missing] = [0, width];
  while (missing - served > 1) {
    const middle = (served + missing) >> 1;
    const bytes: Uint8Array | null = await source.tile(tilePath('entries', index, middle));
    if (bytes === null) missing = middle;
    else [served, best] = [middle, bytes];
  }
  if (best !== null) yield parseEntryTile(best, served);
}

/** Returns 1 for a tile that could be compared. */
async function compareTile({ source, findings }: EntriesWanted, tile: Tile): Promise<number> {
  const { level, index, width, bytes } = tile;
  const served = await source.tile(tilePath(level, index, width));
  if (served === null) {
    const message = `Tile ${index} of level ${level}, ${width} hashes wide, is not there.`;
    const sequence = index * tileWidth ** (level + 1);
    addDamage(findings, 'missing_tile', message, { sequence });
    return 0;
  }
  const finding = tileFinding(tile, bytes, served);
  if (finding !== null) findings.add(finding);
  return 1;
}
