/** Where a log is read from: a running service, or the files of a bundle. */
export interface TileSource {
  /** The bytes of a tile below the log's prefix (`tile/…`), or null where there is none. */
  tile(path: string): Promise<Uint8Array | null>;
  /** How many tiles are worth asking for at the same moment. */
  readonly tilesAtOnce: number;
  /**
   * The lowest level of hash tiles that is kept, and not made of the entries when it is asked for.
   */
  readonly lowestKeptLevel: 0 | 1;
  /**
   * Whether one entry that is missing keeps the others
   * of the last, incomplete tile from being served.
   */
  readonly isTailWhole?: boolean;
}

/** Is told what has been done of what. */
export interface Progress {
  /** A new piece of work: its name, and how much there is of it where that is known. */
  stage(name: string, total: number | null): void;
  advance(count: number): void;
  /** Something the person should know now. */
  note(text: string): void;
}

export const noProgress: Progress = { stage: () => {}, advance: () => {}, note: () => {} };
