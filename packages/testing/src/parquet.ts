import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { parquetMetadata, parquetReadObjects, type SchemaElement } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';

/** Values by column: counts and times (in microseconds) as bigint, bytes as they are. */
export type FileRow = Record<string, unknown>;

const parsers = { timestampFromMicroseconds: (micros: bigint) => micros };
const compressors = { ZSTD: (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input)) };

const bytesOf = (path: string): ArrayBuffer => new Uint8Array(readFileSync(path)).buffer;

/** The rows of a Parquet file. */
export async function rowsOf(file: ArrayBuffer): Promise<FileRow[]> {
  return parquetReadObjects({ file, parsers, compressors, utf8: false });
}

/** The rows of all files below a folder whose names end like this, in order of the log. */
export async function rowsBelow(folder: string, end: RegExp): Promise<FileRow[]> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => end.test(name)).sort();
  const rows = await Promise.all(files.map((name) => rowsOf(bytesOf(join(folder, name)))));
  return rows.flat().sort((a, b) => Number(a.sequence) - Number(b.sequence));
}

/** The names of the files of an archive part: of its events, and of the people in them. */
export const partFiles = { events: /\d\.parquet$/, identity: /-identity\.parquet$/ };

/** Writes a Parquet file again with other rows, in one row group; further columns are text. */
export async function rewrite(path: string, change: (row: FileRow) => FileRow): Promise<void> {
  const file = bytesOf(path);
  const { schema } = parquetMetadata(file, { geoparquet: false });
  const rows = (await rowsOf(file)).map(change);
  const known = schema.slice(1);
  const further = Object.keys(rows[0] ?? {}).filter((name) => !known.some((e) => e.name === name));
  const elements = [...known, ...further.map(textElement)];
  const written = parquetWriteBuffer({
    schema: [{ name: 'archive', num_children: elements.length }, ...elements],
    columnData: elements.map(({ name }) => ({ name, data: rows.map((row) => row[name] ?? null) })),
    rowGroupSize: rows.length,
  });
  writeFileSync(path, new Uint8Array(written));
}

const textElement = (name: string): SchemaElement => ({
  name,
  type: 'BYTE_ARRAY',
  converted_type: 'UTF8',
  repetition_type: 'OPTIONAL',
});
