export type Library = typeof import('@duckdb/node-api');

const settings = {
  // One thread gives the same bytes each time, and leaves the other cores to recording.
  threads: '1',
  memory_limit: '512MB',
  // Else the process keeps the memory of what statements have used.
  allocator_flush_threshold: '1MB',
  allocator_bulk_deallocation_flush_threshold: '1MB',
  // Never downloads anything.
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
};

const missing =
  'the archive is read with the package @duckdb/node-api, which is not installed: ' +
  'build the server with --parquet, or install that package beside it';

/**
 * Its own DuckDB, which spills to `folder` if memory is full. The library takes 70 MiB, so only the
 * archive loads it; an installation may lack it.
 */
export async function openDuckDb(folder: string) {
  const library = await loadDuckDb();
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

/** Throws a sentence for the operator if the package is not installed. */
export function loadDuckDb(): Promise<Library> {
  return import('@duckdb/node-api').catch((error: unknown) => {
    throw new Error(missing, { cause: error });
  });
}

/** Throws that sentence too, and loads nothing: what is written must be readable to an erasure. */
export function requireDuckDb(): void {
  try {
    import.meta.resolve('@duckdb/node-api');
  } catch (error) {
    throw new Error(missing, { cause: error });
  }
}

/** A string literal in SQL: COPY takes no parameters for file names. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
