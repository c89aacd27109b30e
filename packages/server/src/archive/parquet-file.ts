import { constants, zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { ArchivedRow, Column, Value } from '../cold/index.ts';

// The values of a row group are in memory, and are compressed in one step. Groups of 32,768 rows
// take 9 % less space, but 200 MiB more memory.
const groupMax = { rows: 8_192, characters: 2 ** 22 };

/** A file in memory. The same rows give the same bytes. */
export class ParquetFile {
  readonly #columns: readonly Column[];
  readonly #bytes = new ByteWriter();
  readonly #file: ParquetWriter;
  /** The values of the next row group, by column. */
  #values: (Value | bigint)[][];
  #rows = 0;
  #characters = 0;

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
    this.#values = columns.map(() => []);
    this.#file = new ParquetWriter({
      ...{ writer: this.#bytes, schema: schemaOf(columns), createdBy: 'Indelible' },
      ...{ codec: 'ZSTD', compressors: { ZSTD: compress } },
      // Ids are whole, so that a range of them opens few row groups.
      statisticsTruncateLength: 64,
    });
  }

  append(row: ArchivedRow): void {
    for (const [index, { of }] of this.#columns.entries()) {
      const value = of(row);
      if (typeof value === 'string') this.#characters += value.length;
      this.#values[index]?.push(typeof value === 'number' ? BigInt(value) : value);
    }
    this.#rows += 1;
    if (this.#rows === groupMax.rows || this.#characters >= groupMax.characters) this.#endGroup();
  }

  /** The whole file. */
  end(): Uint8Array {
    if (this.#rows > 0) this.#endGroup();
    this.#file.finish();
    return this.#bytes.getBytes();
  }

  #endGroup(): void {
    const columnData = this.#columns.map(({ name, type }, index) => {
      const isPlain = type === 'BLOB' || type === 'BOOLEAN';
      return {
        ...{ name, data: this.#values[index] ?? [], statistics: type !== 'BLOB' },
        // What the library chooses for booleans is not read everywhere.
        ...(isPlain && { encoding: 'PLAIN' as const }),
      };
    });
    this.#file.write({ columnData, rowGroupSize: this.#rows, pageSize: 0 });
    this.#values = this.#columns.map(() => []);
    [this.#rows, this.#characters] = [0, 0];
  }
}

const compress = (bytes: Uint8Array): Uint8Array => zstdCompressSync(bytes, { params });

const params = {
  // Above it more time saves no more space.
  [constants.ZSTD_c_compressionLevel]: 9,
  // Half a mebibyte: a larger one takes more memory and time, and saves nothing.
  [constants.ZSTD_c_windowLog]: 19,
};

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema'];

const types: Readonly<Record<Column['type'], Omit<Schema[number], 'name'>>> = {
  BOOLEAN: { type: 'BOOLEAN' },
  BIGINT: { type: 'INT64', converted_type: 'INT_64' },
  TIMESTAMP: {
    ...{ type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
    // In no time zone: as DuckDB's TIMESTAMP.
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MICROS' },
  },
  VARCHAR: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  BLOB: { type: 'BYTE_ARRAY' },
};

function schemaOf(columns: readonly Column[]): Schema {
  return [
    { name: 'archive', num_children: columns.length },
    ...columns.map(({ name, type }) => ({
      ...{ name, repetition_type: 'OPTIONAL' as const },
      ...types[type],
    })),
  ];
}
