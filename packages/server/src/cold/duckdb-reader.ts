import { join } from 'node:path';
import type { DuckDBInstance, DuckDBType, DuckDBValue } from '@duckdb/node-api';
import type { Config } from '../config.ts';
import { unavailable } from '../http/index.ts';
import type { ObjectStore } from '../objects/index.ts';
import type { ColdSource } from '../postgres/index.ts';
import { type Library, loadDuckDb } from './duckdb.ts';
import { LocalCopies } from './files.ts';

/** Of all statements of a process together; larger ones fail. */
const memory = '160MB';
const statementMs = 10_000;
const trimEveryMs = 3_600_000;

export interface ColdSettings {
  /** For the local copies. */
  folder: string;
  bytesMax: number;
}

export const coldSettings = ({
  dataDir,
  coldCacheBytesMax,
}: Pick<Config, 'dataDir' | 'coldCacheBytesMax'>): ColdSettings => ({
  folder: join(dataDir, 'cold'),
  bytesMax: coldCacheBytesMax,
});

/** Reads archived events; opens nothing before the first statement. */
export function openColdSource(
  objects: ObjectStore,
  { folder, bytesMax }: ColdSettings,
): ColdSource {
  const copies = new LocalCopies(objects, folder, bytesMax);
  let opened: Promise<{ library: Library; instance: DuckDBInstance }> | undefined;
  const open = async () => {
    const library = await loadDuckDb();
    const settings = { threads: '2', memory_limit: memory, temp_directory: '' };
    return { library, instance: await library.DuckDBInstance.create(':memory:', settings) };
  };
  const timer = setInterval(() => void copies.trim().catch(() => {}), trimEveryMs).unref();
  return {
    async read(files, statement, values) {
      const paths = await Promise.all(files.map((file) => copies.pathOf(file)));
      opened ??= open();
      const { library, instance } = await opened;
      return run(library, instance, statement(paths), values);
    },
    close() {
      clearInterval(timer);
      opened?.then(({ instance }) => instance.closeSync()).catch(() => {});
    },
  };
}

async function run(
  library: Library,
  instance: DuckDBInstance,
  text: string,
  values: readonly unknown[],
): Promise<DuckDBValue[][]> {
  const db = await instance.connect();
  const texts = library.LIST(library.VARCHAR);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    db.interrupt();
  }, statementMs);
  try {
    const reader = await db.runAndReadAll(
      text,
      values.map((value) => asDuckValue(library, value)),
      // An empty list would have no type.
      values.map((value) => (Array.isArray(value) ? texts : undefined)) as DuckDBType[],
    );
    return reader.getRows();
  } catch (error) {
    if (isLate) throw unavailable('it takes longer than 10 seconds; narrow range or filters');
    throw error;
  } finally {
    clearTimeout(timer);
    db.closeSync();
  }
}

function asDuckValue(library: Library, value: unknown): DuckDBValue {
  if (Array.isArray(value)) return library.listValue(value);
  if (value instanceof Date)
    return new library.DuckDBTimestampValue(BigInt(value.getTime()) * 1_000n);
  if (typeof value === 'number') return BigInt(value);
  return value as DuckDBValue;
}
