import {
  type Checkpoint,
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
 * and the stored hash tiles. Then `file` has the entries, or those before the first missing one.
 * Returns how many hash tiles were compared, the range of the first entry that differs from the
 * signed ones, and whether entries of the last tile are missing without knowing which (`isGap`).
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
  const found = new EntryFindings(findings, wanted, () => pass.size);
  const { onSubtree } = maker;
  const pass: EntryPass = new EntryPass({ ...wanted, sha, findings: found.findings, onSubtree });
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
  found.finish();
  return { tiles, differs: found.between ?? below ?? found.differs, isGap: found.isGap };
}

/** Entries `from` to `to`, inclusive. */
export interface Span {
  from: number;
  to: number;
}

/** Adds findings of the entries, and where their roots start to differ from the signed ones. */
class EntryFindings {
  readonly #all: Findings;
  readonly #earlier: readonly Checkpoint[];
  readonly #checkpoint: Checkpoint;
  readonly findings: Findings;
  /** The range of the first entry that differs from the signed ones, if any. */
  differs: Span | null = null;
  /** Two entries of which one was changed, if only their order shows it. */
  between: Span | null = null;
  isGap = false;
  #backAt = -1;
  #firstBack: { message: string; sequence: number | null; eventId: string | null } | null = null;

  constructor(
    findings: Findings,
    { earlier = [], checkpoint, source }: EntriesWanted,
    size: () => number,
  ) {
    this.#earlier = earlier;
    this.#checkpoint = checkpoint;
    this.#all = findings;
    const add: Findings['add'] = (code, message, { sequence = null, eventId = null } = {}) => {
      if (code === 'earlier_root_mismatch') this.#parts(size());
      if (code === 'root_mismatch') this.#parts(checkpoint.size);
      if (code === 'receipt_goes_back') {
        // One entry with a receipt time too late makes all later ones look too early.
        const isEcho = sequence === this.#backAt + 1;
        this.#backAt = sequence ?? -1;
        const isFirst = this.#firstBack === null;
        this.#firstBack ??= { message, sequence, eventId };
        if (isEcho || isFirst) return;
      }
      const isEnd = code === 'missing_entries' && source.isTailWhole === true;
      findings.add(code, message, {
        sequence: isEnd ? this.#end(sequence, size()) : sequence,
        eventId,
      });
    };
    this.findings = { ...findings, add };
  }

  /** Of two entries in the wrong order either may be the changed one, unless signed so. */
  finish(): void {
    const back = this.#firstBack;
    if (back === null) return;
    const at = back.sequence ?? 0;
    if (this.differs) this.between = { from: Math.max(0, at - 1), to: at };
    const place = this.differs ? { ...back, sequence: null } : back;
    this.#all.add('receipt_goes_back', back.message, place);
  }

  /** The sequence of the first missing entry; null if it may be another one of the last tile. */
  #end(sequence: number | null, size: number): number | null {
    const { size: signed } = this.#checkpoint;
    this.isGap = size % tileWidth === 0 && signed - size > 1 && signed - size < tileWidth;
    if (!this.isGap) return sequence;
    this.differs ??= { from: size, to: signed - 1 };
    return null;
  }

  /** At the first size with another root: the roots of all smaller checkpoints were correct. */
  #parts(size: number): void {
    const agreed = this.#earlier.map((seen) => seen.size).filter((each) => each < size);
    this.differs ??= { from: Math.max(0, ...agreed), to: size - 1 };
  }
}

/** The entries of each tile from `first` on, in order, up to the first missing one. */
export async function* entryTiles(source: TileSource, size: number, findings: Findings, first = 0) {
  const count = Math.ceil(size / tileWidth) - first;
  const widthOf = (index: number) => Math.min(tileWidth, size - index * tileWidth);
  const get = (n: number) => source.tile(tilePath('entries', first + n, widthOf(first + n)));
  let index = first;
  for await (const bytes of inOrder(count, source.tilesAtOnce, get)) {
    const entries = bytes && entriesOf(bytes, widthOf(index), index, findings);
    if (!entries) {
      if (bytes === null) yield* longestPart(source, findings, index, widthOf(index));
      return;
    }
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
      findings.add('malformed_tile', message, { sequence: index * tileWidth });
    },
  );
}

/** The entries of an incomplete tile before its first gap, to find where the gap begins. */
async function* longestPart(source: TileSource, findings: Findings, index: number, width: number) {
  let best: Uint8Array | null = null;
  let [served, missing] = [0, width];
  while (missing - served > 1) {
    const middle = (served + missing) >> 1;
    const bytes: Uint8Array | null = await source.tile(tilePath('entries', index, middle));
    if (bytes === null) missing = middle;
    else [served, best] = [middle, bytes];
  }
  const entries = best && entriesOf(best, served, index, findings);
  if (entries) yield entries;
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
