import { join } from 'node:path';
import type { DuckDBType, DuckDBValue } from '@duckdb/node-api';
import type { Config } from '../config.ts';
import { tooSlow } from '../http/problem.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { ColdReader, ColdSource } from '../postgres/db.ts';
import { createDuckDb, type Library } from './duckdb.ts';
import { keepCopies } from './files.ts';

const answerMs = 10_000;
const lookEveryMs = 100;

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
  const copies = keepCopies(objects, folder, bytesMax);
  let opened: Promise<Opened> | undefined;
  const until = (endMs: () => number): ColdReader => ({
    read: (files, statement, values) =>
      copies.reading(files, async (paths) => {
        opened ??= createDuckDb(settings).catch((error: unknown) => {
          // The next read tries again.
          opened = undefined;
          throw error;
        });
        return run(await opened, statement(paths), values, endMs());
      }),
  });
  return {
    ...until(() => performance.now() + answerMs),
    forAnswer() {
      const endMs = performance.now() + answerMs;
      return until(() => endMs);
    },
    async close() {
      copies.clear();
      (await opened)?.instance.closeSync();
    },
  };
}

type Opened = Awaited<ReturnType<typeof createDuckDb>>;

const settings = {
  /** Of all statements of a process together; larger ones fail. */
  memory_limit: '160MB',
  temp_directory: '',
  // Paths of copies are used again for other files.
  enable_external_file_cache: 'false',
};

async function run(
  { library, instance }: Opened,
  text: string,
  values: readonly unknown[],
  endMs: number,
): Promise<DuckDBValue[][]> {
  if (performance.now() >= endMs) throw tooSlow();
  const db = await instance.connect();
  const texts = library.LIST(library.VARCHAR);
  let isLate = false;
  // Again and again: an interrupt that comes before the statement runs has no effect.
  const timer = setInterval(() => {
    isLate = performance.now() >= endMs;
    if (isLate) db.interrupt();
  }, lookEveryMs);
  try {
    const reader = await db.runAndReadAll(
      text,
      values.map((value) => asDuckValue(library, value)),
      // An empty list would have no type.
      values.map((value) => (Array.isArray(value) ? texts : undefined)) as DuckDBType[],
    );
    return reader.getRows();
  } catch (error) {
    if (isLate) throw tooSlow();
    throw error;
  } finally {
    clearInterval(timer);
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
