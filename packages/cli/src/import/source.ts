import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { FindingError, UsageError } from '../exit-codes.ts';

/** What is imported: plain bytes, whatever they were packed in. */
export interface Source {
  chunks: AsyncIterable<Buffer>;
  /** Of the file as it lies there, packed or not; null where nobody knows (a pipe). */
  bytesTotal: number | null;
  /** How many of them have been read. */
  bytesRead: () => number;
}

const chunkBytes = 256 * 1024;

/**
 * Opens a file, or reads a stream; gzip is recognised by its first two bytes. Throws
 * UsageError when it cannot be read. While reading: FindingError for damaged gzip data, and the
 * reason of `stop` once that is given.
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
  // Ends a read that waits for input which may never come. The reason reaches whoever reads; a
  // stream that nobody reads yet would take the process down with it.
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

/** The bytes as they are, or unpacked when they begin like gzip data. */
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
    // Whoever stops reading closes the file.
    await rest.return?.();
  }
}

async function* gunzipped(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip({ chunkSize: chunkBytes });
  // Whatever goes wrong in the pipeline destroys `gunzip`, and shows where that is read.
  pipeline(Readable.from(packed, { objectMode: false }), gunzip).catch(() => {});
  try {
    yield* gunzip;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && /^Z_/.test(String(error.code)))) throw error;
    throw new FindingError(`the gzip data is damaged: ${error.message}`);
  }
}
