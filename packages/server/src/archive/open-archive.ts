import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openObjectStore } from '../objects/index.ts';
import { codeOf } from '../postgres/index.ts';
import type { ArchivedRow } from './archived-row.ts';
import { archiveFolder, namesOfStem, parseArchiveName } from './layout.ts';
import type { ArchivedFile, ArchiveManifest } from './manifest.ts';
import { sha256Hex } from './objects-once.ts';
import { readSegment } from './read-segment.store.ts';

/** A segment as its names promise it. */
export interface FoundSegment {
  stem: string;
  first: number;
  last: number;
}

/** An archive, wherever it lies, for whoever verifies or restores it; nothing in it is trusted. */
export interface Archive {
  /** Segments that have a manifest by tenant, in the order of the log. */
  readonly tenants: ReadonlyMap<string, readonly FoundSegment[]>;
  /** Parquet files of which no manifest speaks, by tenant: an interrupted run left them. */
  readonly leftovers: ReadonlyMap<string, readonly string[]>;
  manifest(segment: FoundSegment): Promise<Uint8Array | null>;
  /** How one of the segment's files stands to what the manifest says of it. */
  check(segment: FoundSegment, file: ArchivedFile): Promise<'intact' | 'missing' | 'other'>;
  /**
   * The rows, in order and in pages, of the two files that were checked last. FormatError for files
   * that are not those of a segment.
   */
  read(manifest: ArchiveManifest): AsyncIterable<ArchivedRow[]>;
  /** Removes what was copied here. */
  close(): Promise<void>;
}

/** The files of an archive: names as they lie below its root. */
interface Source {
  names: string[];
  get(name: string): Promise<Uint8Array | null>;
}

/**
 * Opens what is in a folder, or below an `s3://bucket/prefix/archive` URL with the parameters of
 * OBJECT_STORE_URL. Throws a sentence when it cannot be read.
 */
export async function openArchive(where: string): Promise<Archive> {
  const source = /^s3:/.test(where) ? await s3Source(where) : await folderSource(pathOf(where));
  const folder = await mkdtemp(join(tmpdir(), 'indelible-archive-'));
  const place = ({ stem }: FoundSegment, name: string) =>
    `${stem.slice(0, stem.lastIndexOf('/'))}/${name}`;
  const paths = { events: join(folder, 'events'), identity: join(folder, 'identity') };
  const fetched = async (segment: FoundSegment, file: ArchivedFile, path: string) => {
    const bytes = await source.get(place(segment, file.name));
    if (bytes === null) return 'missing';
    await writeFile(path, bytes, { mode: 0o600 });
    return sha256Hex(bytes) === file.sha256 ? 'intact' : 'other';
  };
  return {
    ...foundIn(source.names),
    manifest: ({ stem }) => source.get(namesOfStem(stem).manifest),
    // A copy, so that what was hashed is what is read.
    check: (segment, file) =>
      fetched(segment, file, file.name.includes('-identity') ? paths.identity : paths.events),
    read: ({ tenantId }) => readSegment(folder, paths, tenantId),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

function pathOf(where: string): string {
  return /^file:/.test(where) ? fileURLToPath(where) : where;
}

async function folderSource(root: string): Promise<Source> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  // Names begin with the tenant, also where its own folder is what was named.
  const base = basename(resolve(root)).startsWith('tenant=') ? dirname(resolve(root)) : root;
  return {
    names: files.map(({ parentPath, name }) => relative(base, join(parentPath, name))),
    get: (name) =>
      readFile(join(base, name)).catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return null;
        throw error;
      }),
  };
}

/**
 * The last part of the path is what is listed; a bucket without one holds the archive's own folder.
 */
async function s3Source(where: string): Promise<Source> {
  const url = new URL(where);
  const parts = url.pathname.split('/').filter(Boolean);
  const listed = parts.pop() ?? archiveFolder;
  url.pathname = `/${parts.join('/')}`;
  const objects = openObjectStore(url.href);
  return { names: await objects.list(listed), get: (name) => objects.get(name) };
}

function foundIn(names: readonly string[]): Pick<Archive, 'tenants' | 'leftovers'> {
  const tenants = new Map<string, FoundSegment[]>();
  const leftovers = new Map<string, string[]>();
  const archived = names.map(parseNamed).filter((found) => found !== null);
  const stems = new Set(archived.filter(({ isManifest }) => isManifest).map(({ stem }) => stem));
  for (const { name, tenantId, stem, first, last, isManifest } of archived) {
    if (isManifest) listOf(tenants, tenantId).push({ stem, first, last });
    else if (!stems.has(stem)) listOf(leftovers, tenantId).push(name);
  }
  for (const segments of tenants.values())
    segments.sort((a, b) => a.first - b.first || a.last - b.last);
  return { tenants, leftovers };
}

function parseNamed(name: string) {
  const parsed = parseArchiveName(name);
  return parsed && { name, ...parsed };
}

function listOf<T>(map: Map<string, T[]>, key: string): T[] {
  const list = map.get(key) ?? [];
  map.set(key, list);
  return list;
}
