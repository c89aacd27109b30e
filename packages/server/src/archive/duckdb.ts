export type Library = typeof import('@duckdb/node-api');

const settings = {
  // One thread gives the same bytes each time, and leaves the other cores to recording. To read,
  // more are hardly quicker, and each of them keeps memory.
  threads: '1',
  // Else the process keeps what statements have used: 630 MiB after some lists, not 400.
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
 * A DuckDB of its own. The library takes 70 MiB, so only the archive loads it; an installation may
 * lack it: then throws a sentence for the operator.
 */
export async function createDuckDb(more: Record<string, string>) {
  const library = await import('@duckdb/node-api').catch((error: unknown) => {
    throw new Error(missing, { cause: error });
  });
  const instance = await library.DuckDBInstance.create(':memory:', { ...settings, ...more });
  return { library, instance };
}

/** One with a connection, which spills to `folder` if memory is full. */
export async function openDuckDb(folder: string) {
  const limits = { memory_limit: '512MB', temp_directory: folder };
  const { library, instance } = await createDuckDb(limits);
  const db = await instance.connect();
  const close = () => {
    db.closeSync();
    instance.closeSync();
  };
  return { db, library, close };
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
