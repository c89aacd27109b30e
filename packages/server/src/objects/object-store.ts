import type { Readable } from 'node:stream';

/** Stores checkpoints, exports and archives: objects by name. */
export interface ObjectStore {
  /** Makes the folder of a new store. No other call does: a folder that has vanished stays away. */
  create(): Promise<void>;
  /** Writes a whole object unless the name exists (then false). Durable when it resolves. */
  putIfAbsent(name: string, body: Uint8Array): Promise<boolean>;
  /**
   * Writes an object of any size in limited memory and replaces an earlier one. Durable when it
   * resolves; before that it is invisible. If it throws, also because `body` threw or `signal` was
   * aborted (with its reason), nothing remains. Chunks are kept until they are sent: a source must
   * not write into one again.
   */
  putStream(
    name: string,
    body: AsyncIterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<{ bytes: number }>;
  /**
   * The object or a range of it, to be read or destroyed; null if absent. `bytes` is the whole
   * object's size. An end beyond the last byte is cut. Throws RangeError for an empty range.
   */
  getStream(name: string, range?: ByteRange): Promise<{ bytes: number; body: Readable } | null>;
  remove(name: string): Promise<void>;
  /** Throws if the store takes no objects, or overwrites those there. Writes at most one. */
  probe(): Promise<void>;
  /** Names of all objects below a prefix, in order; with `after`, only later ones. */
  list(prefix: string, after?: string): Promise<string[]>;
}

/** First and last byte, inclusive, as in an HTTP range. */
export interface ByteRange {
  start: number;
  end: number;
}
