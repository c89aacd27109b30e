import {
  type Checkpoint,
  changing,
  createTileMaker,
  EntryPass,
  equalBytes,
  type Findings,
  hashBytes,
  type OnTile,
  parseEntryTile,
  readOrNull,
  tilePath,
  tileWidth,
} from '@indelible/protocol';
import type { Reading } from './entry-file.ts';
import { sha } from './hashing.ts';
import { inOrder, type TileSource } from './log-source.ts';

interface EntriesWanted {
  source: TileSource;
  checkpoint: Checkpoint;
  /** Earlier checkpoints of the same leaves, no larger than `checkpoint`. */
  earlier?: readonly Checkpoint[];
  /** Called for every hash tile of the entries; `bytes` is reused for the next one. */
  onTile?: OnTile;
}

interface Tile {
  level: number;
  index: number;
  width: number;
  bytes: Uint8Array;
}

/**
 * Reads every entry up to the checkpoint, recomputes the tree, and compares the root, earlier roots
 * and the stored hash tiles. Then `file` has the entries, or those before the first missing tile.
 * Returns how many hash tiles were compared, and the range of the first entry that differs from the
 * signed ones or is missing: a tile of entries, if a stored hash shows it.
 */
export async function readEntries(reading: Reading, wanted: EntriesWanted) {
  const { file, progress, findings } = reading;
  const { source, checkpoint } = wanted;
  const computed: Tile[] = [];
  const maker = createTileMaker((level, index, width, bytes) => {
    wanted.onTile?.(level, index, width, bytes);
    if (level >= source.lowestKeptLevel)
      computed.push({ level, index, width, bytes: bytes.slice() });
  });
  const { onSubtree } = maker;
  const pass = new EntryPass({ ...wanted, sha, findings: withoutPlaces(findings), onSubtree });
  let tiles = 0;
  let below: Span | null = null;
  const compare = async () => {
    for (const tile of computed.splice(0)) {
      const span = await compareTile(source, findings, tile);
      below ??= span;
      tiles += 1;
    }
  };
  progress.stage('entries', checkpoint.size);
  for await (const entries of entryTiles(source, checkpoint.size, findings)) {
    pass.add(entries);
    file.append(entries);
    await compare();
    progress.advance(entries.length / 60);
  }
  maker.finish();
  // After a gap, a comparison would only repeat that finding.
  if (pass.size === checkpoint.size) await compare();
  pass.finish();
  return { tiles, differs: below ?? pass.differs ?? missingTile(pass.size, checkpoint) };
}

/**
 * Of two entries in the wrong order either may be the changed one, and of a missing tile any entry
 * may be the missing one: no sequence is named for them.
 */
function withoutPlaces(findings: Findings): Findings {
  return changing(findings, (finding) => {
    const isVague = finding.code === 'receipt_goes_back' || finding.code === 'missing_entries';
    return isVague ? { ...finding, sequence: null } : finding;
  });
}

/** The tile that follows the entries; null if none is missing. */
function missingTile(from: number, { size }: Checkpoint): Span | null {
  const to = Math.min(size, (Math.floor(from / tileWidth) + 1) * tileWidth) - 1;
  return from < size ? { from, to } : null;
}

/** Entries `from` to `to`, inclusive. */
export interface Span {
  from: number;
  to: number;
}

/** The entries of each tile from `first` on, in order, up to the first missing one. */
export async function* entryTiles(source: TileSource, size: number, findings: Findings, first = 0) {
  const count = Math.ceil(size / tileWidth) - first;
  const widthOf = (index: number) => Math.min(tileWidth, size - index * tileWidth);
  const get = (n: number) => source.tile(tilePath('entries', first + n, widthOf(first + n)));
  let index = first;
  for await (const bytes of inOrder(count, source.tilesAtOnce, get)) {
    const entries = bytes && entriesOf(bytes, widthOf(index), index, findings);
    if (!entries) return;
    yield entries;
    index += 1;
  }
}

/** The entries of a tile; null, with a finding, if it is malformed. */
function entriesOf(bytes: Uint8Array, width: number, index: number, findings: Findings) {
  return readOrNull(
    () => parseEntryTile(bytes, width),
    (error) => {
      const message = `The entry tile ${index} cannot be read: ${error.message}.`;
      findings.add('malformed_tile', message);
    },
  );
}

/** The range of entries below a tile that differs from the entries; null if it is equal. */
async function compareTile(
  source: TileSource,
  findings: Findings,
  { level, index, width, bytes }: Tile,
): Promise<Span | null> {
  const served = await source.tile(tilePath(level, index, width));
  const name = `Tile ${index} of level ${level}, ${width} hashes wide,`;
  if (served === null) {
    findings.add('missing_tile', `${name} is missing.`);
    const first = index * tileWidth ** (level + 1);
    return { from: first, to: first + width * tileWidth ** level - 1 };
  }
  if (equalBytes(bytes, served)) return null;
  const wrong = bytes.findIndex((byte, at) => served[at] !== byte);
  const node = index * tileWidth + Math.max(0, Math.floor(wrong / hashBytes));
  const from = node * tileWidth ** level;
  const to = from + tileWidth ** level - 1;
  const message = `${name} does not match the entries ${from} to ${to}.`;
  // A hash does not show which entry it is: other findings name the sequence.
  findings.add('tile_mismatch', message);
  return { from, to };
}
