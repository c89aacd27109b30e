import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { FindingError, UsageError } from '../io.ts';

/** The imported bytes, unpacked. */
export interface Source {
  chunks: AsyncIterable<Buffer>;
  /** Bytes of the file as stored, packed or not; null if unknown (a pipe). */
  bytesTotal: number | null;
  /** How many of them were read. */
  bytesRead: () => number;
}

const chunkBytes = 256 * 1024;

/**
 * Opens a file or a stream; gzip is recognised by its first two bytes. Throws UsageError if it
 * cannot be read. While reading: FindingError for damaged gzip data, and the reason of `stop`.
 */
export async function openSource(from: string | Readable, stop: AbortSignal): Promise<Source> {
  const { stream, bytesTotal } =
    typeof from === 'string' ? await openFile(from) : { stream: from, bytesTotal: null };
  let bytes = 0;
  async function* counted() {
    for await (const chunk of stream) {
      bytes += chunk.length;
      yield chunk as Buffer;
    }
  }
  // Ends a read that may wait forever. The reader gets the reason; without a listener, the error of
  // an unread stream would end the process.
  stream.on('error', () => {});
  stop.addEventListener('abort', () => stream.destroy(stop.reason), { once: true });
  return { chunks: unpacked(counted()), bytesTotal, bytesRead: () => bytes };
}

async function openFile(path: string) {
  const file = await open(path).catch((error: Error) => {
    throw new UsageError(`${path} cannot be read: ${error.message}`);
  });
  const stat = await file.stat();
  if (stat.isDirectory()) {
    await file.close();
    throw new UsageError(`${path} is a folder; name a file, or - for standard input`);
  }
  const stream = file.createReadStream({ highWaterMark: chunkBytes });
  return { stream, bytesTotal: stat.isFile() ? stat.size : null };
}

/** The bytes unchanged, or unpacked if they begin like gzip data. */
export async function* unpacked(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < 2) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const all = rejoined(head, iterator);
  if (head[0] === 0x1f && head[1] === 0x8b) yield* gunzipped(all);
  else yield* all;
}

async function* rejoined(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    // Closes the file if the reader stops early.
    await rest.return?.();
  }
}

async function* gunzipped(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip({ chunkSize: chunkBytes });
  // An error of the pipeline destroys `gunzip`, and its reader gets it.
  pipeline(Readable.from(packed, { objectMode: false }), gunzip).catch(() => {});
  try {
    yield* gunzip;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && /^Z_/.test(String(error.code)))) throw error;
    throw new FindingError(`the gzip data is damaged: ${error.message}`);
  }
}
