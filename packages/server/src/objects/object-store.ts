import type { Readable } from 'node:stream';

/** Where checkpoints, exports and archives are kept: objects by name. */
export interface ObjectStore {
  /**
   * Writes a whole object unless one of this name exists;
   * false when it does. Durable when it resolves.
   */
  putIfAbsent(name: string, body: Uint8Array): Promise<boolean>;
  /**
   * Writes an object of any size in bounded memory, in place of an earlier one of this name.
   * Durable when it resolves; before that nothing of it can be seen. When it throws, also because
   * `body` threw or `signal` was aborted (with its reason), nothing of it stays. A chunk is done
   * with when the next one is asked for, so a source may use one buffer for all of them.
   */
  putStream(
    name: string,
    body: AsyncIterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<{ bytes: number }>;
  /** The object, or null. */
  get(name: string): Promise<Uint8Array | null>;
  /**
   * The object or a range of it, to be read or destroyed; null when
   * there is none. `bytes` is the whole object's size. An end beyond the
   * last byte is cut. Throws RangeError when no byte is in the range.
   */
  getStream(name: string, range?: ByteRange): Promise<{ bytes: number; body: Readable } | null>;
  /** Removes an object, if there is one. */
  remove(name: string): Promise<void>;
  /** Names of all objects below a prefix, in order; only those behind `after`, if it is given. */
  list(prefix: string, after?: string): Promise<string[]>;
}

/** First and last byte, both included, as in an HTTP range. */
export interface ByteRange {
  start: number;
  end: number;
}
