import { constants, zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { ArchivedRow } from './archived-row.ts';
import type { Column, Value } from './columns.ts';

// The values of a row group are in memory, and are compressed in one step. Groups of 32,768 rows
// take 9 % less space, but 200 MiB more memory.
const groupMax = { rows: 8_192, characters: 2 ** 22 };

/** A file in memory. The same rows give the same bytes. */
export class ParquetFile {
  readonly #columns: readonly GrowingColumn[];
  readonly #bytes = new ByteWriter();
  readonly #file: ParquetWriter;
  /** Rows of the next row group. */
  #rows = 0;
  #characters = 0;

  constructor(columns: readonly Column[]) {
    this.#columns = columns.map((column) => new GrowingColumn(column));
    this.#file = new ParquetWriter({
      writer: this.#bytes,
      schema: schemaOf(columns),
      createdBy: 'Indelible',
      codec: 'ZSTD',
      compressors: { ZSTD: compress },
      // Ids are whole, so that a range of them opens few row groups.
      statisticsTruncateLength: 64,
    });
  }

  append(row: ArchivedRow): void {
    for (const column of this.#columns) this.#characters += column.append(row);
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
    const columnData = this.#columns.map((column) => column.end());
    this.#file.write({ columnData, rowGroupSize: this.#rows, pageSize: 0 });
    [this.#rows, this.#characters] = [0, 0];
  }
}

/** The values of a column in the next row group. */
class GrowingColumn {
  readonly #column: Column;
  #values: (Value | bigint)[] = [];
  /** Equal texts are one string: those of thousands of rows would be most of the memory. */
  readonly #texts = new Map<string, string>();

  constructor(column: Column) {
    this.#column = column;
  }

  /** Returns the characters of the row's text. */
  append(row: ArchivedRow): number {
    const value = this.#column.of(row);
    if (typeof value !== 'string') {
      this.#values.push(typeof value === 'number' ? BigInt(value) : value);
      return 0;
    }
    const known = this.#texts.get(value);
    if (known === undefined && this.#texts.size < textsMax) this.#texts.set(value, value);
    this.#values.push(known ?? value);
    return value.length;
  }

  end(): ColumnSource {
    const { name, type, isRising = false } = this.#column;
    const isPlain = type === 'BLOB' || type === 'BOOLEAN';
    const data = this.#values;
    this.#values = [];
    this.#texts.clear();
    return {
      name,
      data,
      statistics: isRising,
      // What the library chooses for booleans is not read everywhere.
      ...(isPlain && { encoding: 'PLAIN' as const }),
    };
  }
}

/** A column with more different texts in a row group has few equal ones. */
const textsMax = 4_096;

type ColumnSource = Parameters<ParquetWriter['write']>[0]['columnData'][number];

const compress = (bytes: Uint8Array): Uint8Array => zstdCompressSync(bytes, { params });

const params = {
  // Above it more time saves no more space: 9 takes a fifth more.
  [constants.ZSTD_c_compressionLevel]: 8,
  // Half a mebibyte: a larger one takes more memory and time, and saves nothing.
  [constants.ZSTD_c_windowLog]: 19,
};

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema'];

const types: Readonly<Record<Column['type'], Omit<Schema[number], 'name'>>> = {
  BOOLEAN: { type: 'BOOLEAN' },
  BIGINT: { type: 'INT64', converted_type: 'INT_64' },
  TIMESTAMP: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    // In no time zone: as TIMESTAMP in SQL.
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MICROS' },
  },
  VARCHAR: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  BLOB: { type: 'BYTE_ARRAY' },
};

function schemaOf(columns: readonly Column[]): Schema {
  return [
    { name: 'archive', num_children: columns.length },
    ...columns.map(({ name, type }) => ({
      name,
      repetition_type: 'OPTIONAL' as const,
      ...types[type],
    })),
  ];
}
