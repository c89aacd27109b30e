/** A source of a log: a running service, or the files of a bundle. */
export interface TileSource {
  /** The bytes of a tile below the log's prefix (`tile/…`), or null if absent. */
  tile(path: string): Promise<Uint8Array | null>;
  /** How many tiles to request at the same time. */
  readonly tilesAtOnce: number;
  /** The lowest level of stored hash tiles; lower ones are computed from the entries on request. */
  readonly lowestKeptLevel: 0 | 1;
  /** Whether one missing entry makes the rest of the last, incomplete tile unavailable. */
  readonly isTailWhole?: boolean;
}

/** Reports progress. */
export interface Progress {
  /** A new stage: its name, and its amount of work if known. */
  stage(name: string, total: number | null): void;
  advance(count: number): void;
  /** A note for the user. */
  note(text: string): void;
}

export const noProgress: Progress = { stage: () => {}, advance: () => {}, note: () => {} };
