import type { DuckDBConnection } from '@duckdb/node-api';

type Library = typeof import('@duckdb/node-api');

const settings = {
  // One thread gives the same bytes each time, and leaves the other cores to who records.
  threads: '1',
  memory_limit: '512MB',
  // Nothing is ever fetched from a network.
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
};

const missing =
  'the archive writes and reads Parquet with the package @duckdb/node-api, which is not installed: ' +
  'build the server with --parquet, or install that package beside it';

export interface DuckDb {
  db: DuckDBConnection;
  library: Library;
  close(): void;
}

/**
 * A DuckDB of its own, which spills into `folder` what memory does not hold. The library takes 70
 * MiB to load, so only the archive does; an installation without an archive may lack it.
 */
export async function openDuckDb(folder: string): Promise<DuckDb> {
  const library = await import('@duckdb/node-api').catch((error: unknown) => {
    throw new Error(missing, { cause: error });
  });
  const instance = await library.DuckDBInstance.create(':memory:', {
    ...settings,
    temp_directory: folder,
  });
  const db = await instance.connect();
  const close = () => {
    db.closeSync();
    instance.closeSync();
  };
  return { db, library, close };
}

/** A text within a statement: file names take no parameters in COPY. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
