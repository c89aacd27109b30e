import {
  type Checkpoint,
  createTileMaker,
  EntryPass,
  type Finding,
  type Findings,
  FormatError,
  type OnTile,
  parseEntryTile,
  tileFinding,
  tilePath,
  tileWidth,
} from '@indelible/protocol';
import { addDamage } from './damage.ts';
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
  /** Where the first entry is that is not the one that was signed over; null when all are. */
  differs: Span | null;
  /** Whether entries are missing, and which of the last tile nobody can tell. */
  isGap: boolean;
}

interface Tile {
  level: number;
  index: number;
  width: number;
  bytes: Uint8Array;
}

/**
 * Reads every entry up to the checkpoint, recomputes the tree and compares root, earlier roots and
 * the hash tiles as they are kept. What is wrong goes to the findings; `file` has the entries then,
 * or those before the first that cannot be had.
 */
export async function readEntries(wanted: EntriesWanted): Promise<EntriesRead> {
  const { source, checkpoint, file, progress } = wanted;
  const computed: Tile[] = [];
  const maker = createTileMaker((level, index, width, bytes) => {
    wanted.onTile?.(level, index, width, bytes);
    if (level >= source.lowestKeptLevel)
      computed.push({ level, index, width, bytes: bytes.slice() });
  });
  const found = new EntryFindings(wanted, () => pass.size);
  const { findings } = found;
  const pass: EntryPass = new EntryPass({ ...wanted, sha, findings, onSubtree: maker.onSubtree });
  let tiles = 0;
  let below: Span | null = null;
  const compare = async () => {
    for (const tile of computed.splice(0)) {
      const span = await compareTile(wanted, tile);
      below ??= span;
      tiles += 1;
    }
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
  found.finish();
  return { tiles, differs: found.between ?? below ?? found.differs, isGap: found.isGap };
}

/** Entries `from` to `to` inclusive. */
export interface Span {
  from: number;
  to: number;
}

/**
 * What goes to the findings of a pass over entries, with where its roots part from those signed.
 */
class EntryFindings {
  readonly #add: Findings['add'];
  readonly #earlier: readonly Checkpoint[];
  readonly #checkpoint: Checkpoint;
  readonly findings: Findings;
  /** Where the first entry is that is not the one that was signed over, if there is one. */
  differs: Span | null = null;
  /** The two entries of which one was changed, where that shows in their order alone. */
  between: Span | null = null;
  isGap = false;
  #backAt = -1;
  #firstBack: Finding | null = null;

  constructor({ earlier, checkpoint, findings, source }: EntriesWanted, size: () => number) {
    this.#earlier = earlier;
    this.#checkpoint = checkpoint;
    this.#add = (finding) => findings.add(finding);
    this.findings = {
      ...findings,
      add: (finding) => {
        const { code, sequence } = finding;
        if (code === 'earlier_root_mismatch') this.#parts(size());
        if (code === 'root_mismatch') this.#parts(this.#checkpoint.size);
        // One entry that is said to be received too late makes all that follow look too early.
        const isEcho = code === 'receipt_goes_back' && sequence === this.#backAt + 1;
        if (code === 'receipt_goes_back') this.#backAt = sequence ?? -1;
        if (isEcho) return;
        if (code === 'receipt_goes_back' && this.#firstBack === null) this.#firstBack = finding;
        else if (code === 'missing_entries' && source.isTailWhole) this.#addEnd(finding, size());
        else findings.add(finding);
      },
    };
  }

  /**
   * Of two entries in the wrong order either may be the changed one, unless they were signed so.
   */
  finish(): void {
    const back = this.#firstBack;
    if (back === null) return;
    const at = back.sequence ?? 0;
    if (this.differs) this.between = { from: Math.max(0, at - 1), to: at };
    this.#add(this.differs ? { ...back, sequence: null } : back);
  }

  #addEnd(finding: Finding, size: number): void {
    const { size: signed } = this.#checkpoint;
    this.isGap = size % tileWidth === 0 && signed - size > 1 && signed - size < tileWidth;
    if (this.isGap) this.differs ??= { from: size, to: signed - 1 };
    this.#add(this.isGap ? { ...finding, sequence: null } : finding);
  }

  /** At the first size whose root is another one: at all smaller ones seen before it was right. */
  #parts(size: number): void {
    const agreed = this.#earlier.map((seen) => seen.size).filter((each) => each < size);
    this.differs ??= { from: Math.max(0, ...agreed), to: size - 1 };
  }
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

/**
 * As many entries of a tile that is incomplete as there are without a gap: shows where it begins.
 */
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

/** The entries below a tile that is not as the entries give it; null for one that is. */
async function compareTile({ source, findings }: EntriesWanted, tile: Tile): Promise<Span | null> {
  const { level, index, width, bytes } = tile;
  const served = await source.tile(tilePath(level, index, width));
  const name = `Tile ${index} of level ${level}, ${width} hashes wide,`;
  if (served === null) {
    addDamage(findings, 'missing_tile', `${name} is missing.`);
    const first = index * tileWidth ** (level + 1);
    return { from: first, to: first + width * tileWidth ** level - 1 };
  }
  const finding = tileFinding(tile, bytes, served);
  if (finding === null) return null;
  const from = finding.sequence ?? 0;
  const to = from + tileWidth ** level - 1;
  const message = `${name} does not match the entries ${from} to ${to}.`;
  // Which of them it is, a hash does not tell: the place is left to what can.
  findings.add({ ...finding, sequence: null, message });
  return { from, to };
}
