import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import type { ArchivedRow, Column } from '../../cold/index.ts';
import { type ColumnChunk, ColumnWriter } from './column-writer.ts';
import { binary, i32, i64, list, no, struct, type ThriftValue } from './thrift.ts';

/*
 * Parquet files of flat columns, each of which may be null. The numbers are those of
 * https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
 */

// A whole row group is in the memory of writers and readers; a larger one saves 3 %.
const groupMax = { rows: 32_768, characters: 2 ** 24 };

const magic = Buffer.from('PAR1');
const codec = { zstd: 6 };
// Those of the format's version 1: version 2 saves 2 % and is not read everywhere.
const encodings = { plain: 0, dictionary: 2, hybrid: 3 };
const pageTypes = { data: 0, dictionary: 2 };

/** A file in memory. The same rows give the same bytes. */
export class ParquetFile {
  readonly #columns: readonly Column[];
  readonly #writers: readonly ColumnWriter[];
  readonly #pieces: Uint8Array[] = [magic];
  #length = magic.length;
  readonly #groups: ThriftValue[] = [];
  #rows = 0;
  #groupRows = 0;
  /** The last row group is compressed while the next one is collected. */
  #compressed: Promise<void> = Promise.resolve();

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
    this.#writers = columns.map((column) => new ColumnWriter(column, groupMax.rows));
  }

  async append(rows: readonly ArchivedRow[]): Promise<void> {
    for (const row of rows) {
      let characters = 0;
      for (let index = 0; index < this.#columns.length; index += 1) {
        const [column, writer] = [this.#columns[index], this.#writers[index]];
        if (!column || !writer) continue;
        writer.append(column.of(row));
        characters += writer.characters;
      }
      this.#groupRows += 1;
      const isFull = this.#groupRows === groupMax.rows || characters >= groupMax.characters;
      if (isFull) await this.#endGroup();
    }
  }

  /** The whole file. */
  async end(): Promise<Buffer> {
    if (this.#groupRows > 0) await this.#endGroup();
    await this.#compressed;
    const footer = struct({
      1: i32(1),
      2: list(schemaOf(this.#columns)),
      3: i64(this.#rows),
      4: list(this.#groups),
      6: binary('Indelible'),
      // Values are compared as their types say; without it readers may not use the ranges.
      7: list(this.#columns.map(() => struct({ 1: struct({}) }))),
    });
    const length = Buffer.alloc(4);
    length.writeUInt32LE(footer.bytes.length);
    return Buffer.concat([...this.#pieces, footer.bytes, length, magic]);
  }

  async #endGroup(): Promise<void> {
    const chunks = this.#writers.map((writer) => writer.take());
    const rows = this.#groupRows;
    this.#rows += rows;
    this.#groupRows = 0;
    await this.#compressed;
    this.#compressed = this.#addGroup(chunks, rows);
    this.#compressed.catch(() => {}); // told by the next call
  }

  async #addGroup(chunks: readonly ColumnChunk[], rows: number): Promise<void> {
    const start = this.#length;
    const columns: ThriftValue[] = [];
    let bytes = 0;
    for (const [index, column] of this.#columns.entries()) {
      const chunk = chunks[index];
      if (!chunk) continue;
      const [metadata, size] = await this.#addChunk(column, chunk);
      columns.push(metadata);
      bytes += size;
    }
    const compressed = this.#length - start;
    this.#groups.push(
      struct({ 1: list(columns), 2: i64(bytes), 3: i64(rows), 5: i64(start), 6: i64(compressed) }),
    );
  }

  /** Returns the chunk's metadata and its size before compression. */
  async #addChunk(column: Column, chunk: ColumnChunk): Promise<[ThriftValue, number]> {
    const { count, nulls, dictionary, page, range } = chunk;
    const start = this.#length;
    const encoding = dictionary === null ? encodings.plain : encodings.dictionary;
    const kept =
      dictionary && (await this.#addPage(dictionary.bytes, dictionaryHeader(dictionary.count)));
    const dataAt = this.#length;
    const size = await this.#addPage(page, dataHeader(count, encoding));
    const uncompressed = (kept ?? 0) + size;
    const metadata = struct({
      1: i32(types[column.type].physical),
      2: list([i32(encodings.hybrid), i32(encoding)]),
      3: list([binary(column.name)]),
      4: i32(codec.zstd),
      5: i64(count),
      6: i64(uncompressed),
      7: i64(this.#length - start),
      9: i64(dataAt),
      11: dictionary === null ? undefined : i64(start),
      12: struct({
        3: i64(nulls),
        5: range === null ? undefined : binary(range.greatest),
        6: range === null ? undefined : binary(range.least),
      }),
    });
    return [struct({ 2: i64(start), 3: metadata }), uncompressed];
  }

  /** Returns the page's size before compression, with its header. */
  async #addPage(content: Buffer, header: Header): Promise<number> {
    const compressed = await compress(content, { params, pledgedSrcSize: content.length });
    const sizes = { 2: i32(content.length), 3: i32(compressed.length) };
    const { bytes } = struct({ ...header, ...sizes });
    this.#pieces.push(bytes, compressed);
    this.#length += bytes.length + compressed.length;
    return bytes.length + content.length;
  }
}

const compress = promisify(zstdCompress);
const params = {
  // Above it more time saves no more space.
  [constants.ZSTD_c_compressionLevel]: 9,
  // Half a mebibyte: a larger one takes 30 MiB and a third more time, and saves nothing.
  [constants.ZSTD_c_windowLog]: 19,
};

type Header = Parameters<typeof struct>[0];

function dataHeader(count: number, encoding: number): Header {
  const levels = i32(encodings.hybrid);
  const page = struct({ 1: i32(count), 2: i32(encoding), 3: levels, 4: levels });
  return { 1: i32(pageTypes.data), 5: page };
}

function dictionaryHeader(count: number): Header {
  const page = struct({ 1: i32(count), 2: i32(encodings.dictionary) });
  return { 1: i32(pageTypes.dictionary), 7: page };
}

const microseconds = struct({ 2: struct({}) });

interface ColumnType {
  physical: number;
  converted?: number;
  logical?: ThriftValue;
}

const types: Readonly<Record<Column['type'], ColumnType>> = {
  BOOLEAN: { physical: 0 },
  BIGINT: { physical: 2, converted: 18 },
  TIMESTAMP: {
    physical: 2,
    converted: 10,
    // In no time zone: as DuckDB's TIMESTAMP.
    logical: struct({ 8: struct({ 1: no, 2: microseconds }) }),
  },
  VARCHAR: { physical: 6, converted: 0 },
  BLOB: { physical: 6 },
};

function schemaOf(columns: readonly Column[]): ThriftValue[] {
  const optional = i32(1);
  const leaves = columns.map(({ name, type }) => {
    const { physical, converted, logical } = types[type];
    return struct({
      1: i32(physical),
      3: optional,
      4: binary(name),
      6: converted === undefined ? undefined : i32(converted),
      10: logical,
    });
  });
  return [struct({ 4: binary('archive'), 5: i32(columns.length) }), ...leaves];
}
