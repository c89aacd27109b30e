import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { FormatError } from '@indelible/protocol';
import type { ArchivedRow } from '../cold/archived-row.ts';
import { archiveFolder, namesOfStem, parseArchiveName } from '../cold/layout.ts';
import { readPart } from '../cold/read-part.store.ts';
import { filesBelow, InsideFolder } from '../objects/inside-folder.ts';
import { openObjectStore } from '../objects/open-store.ts';
import type { ArchivedFile, ArchiveManifest } from './manifest.ts';

/** A part as its names describe it. */
export interface FoundPart {
  stem: string;
  first: number;
  last: number;
}

/** An untrusted archive in any store, for verification and restore. */
export interface Archive {
  /** Parts with a manifest, by tenant, in the order of the log. */
  readonly tenants: ReadonlyMap<string, readonly FoundPart[]>;
  /** Parquet files without a manifest, by tenant: left from an interrupted run. */
  readonly leftovers: ReadonlyMap<string, readonly string[]>;
  /** Null if absent; FormatError if it is not a regular file, or too long. */
  manifest(part: FoundPart): Promise<Uint8Array | null>;
  /**
   * Compares a file with its manifest. A file that is not regular, or longer than any that is
   * written, is `other`.
   */
  check(part: FoundPart, file: ArchivedFile): Promise<'intact' | 'missing' | 'other'>;
  /**
   * The rows, in order and in pages, of the two files that were checked last. FormatError if they
   * are not files of a part.
   */
  read(manifest: ArchiveManifest): AsyncIterable<ArchivedRow[]>;
  /** Removes temporary copies. */
  close(): Promise<void>;
}

/** The files of an archive, with names relative to its root. */
interface Source {
  names: string[];
  /** Null if absent; FormatError if it is longer or not a regular file. */
  open(name: string, bytesMax: number): Promise<Readable | null>;
}

/** Larger than anything written, so that a hostile archive fills neither memory nor disk. */
const bytesMax = { manifest: 16 * 2 ** 20, parquet: 256 * 2 ** 20 };

/**
 * Opens an archive in a folder, or below an `s3://bucket/prefix/archive` URL with the parameters of
 * OBJECT_STORE_URL. Throws a sentence if it cannot be read.
 */
export async function openArchive(where: string): Promise<Archive> {
  const source = /^s3:/.test(where) ? await s3Source(where) : await folderSource(pathOf(where));
  const folder = await mkdtemp(join(tmpdir(), 'indelible-archive-'));
  const partPath = ({ stem }: FoundPart, name: string) =>
    `${stem.slice(0, stem.lastIndexOf('/'))}/${name}`;
  const paths = { events: join(folder, 'events'), identity: join(folder, 'identity') };
  const fetched = async (part: FoundPart, file: ArchivedFile, path: string) => {
    const found = await source
      .open(partPath(part, file.name), bytesMax.parquet)
      .catch(otherIfUnfit);
    await rm(path, { force: true }); // else the one of the part before would be read
    if (found === null) return 'missing';
    if (found === 'other') return 'other';
    const digest = createHash('sha256');
    found.on('data', (chunk) => digest.update(chunk));
    await pipeline(found, createWriteStream(path, { mode: 0o600 }));
    return digest.digest('hex') === file.sha256 ? 'intact' : 'other';
  };
  return {
    ...foundIn(source.names),
    manifest: async ({ stem }) => {
      const found = await source.open(namesOfStem(stem).manifest, bytesMax.manifest);
      return found && Buffer.concat(await found.toArray());
    },
    // Reads a copy, so that the hashed bytes are the bytes that are used.
    check: (part, file) =>
      fetched(part, file, file.name.includes('-identity') ? paths.identity : paths.events),
    read: ({ tenantId }) => readPart(folder, paths, tenantId),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

function pathOf(where: string): string {
  return /^file:/.test(where) ? fileURLToPath(where) : where;
}

async function folderSource(root: string): Promise<Source> {
  // Names begin with the tenant, also if its folder was given.
  const own = basename(resolve(root));
  const prefix = own.startsWith('tenant=') ? `${own}/` : '';
  const inside = new InsideFolder(root);
  return {
    names: (await filesBelow(root)).map((name) => `${prefix}${name}`),
    open: async (name, longest) => {
      const fd = inside.open(name.slice(prefix.length), longest);
      return fd === null ? null : createReadStream('', { fd, end: longest });
    },
  };
}

/** The last path element is the listed folder; without one, the archive's own folder. */
async function s3Source(where: string): Promise<Source> {
  const url = new URL(where);
  const folders = url.pathname.split('/').filter(Boolean);
  const listed = folders.pop() ?? archiveFolder;
  url.pathname = `/${folders.join('/')}`;
  const objects = openObjectStore(url.href);
  const open = async (name: string, longest: number) => {
    const found = await objects.getStream(name);
    if (found === null || found.bytes <= longest) return found?.body ?? null;
    found.body.destroy();
    throw new FormatError(`${name} is too long`);
  };
  return { names: await objects.list(listed), open };
}

function otherIfUnfit(error: unknown): 'other' {
  if (error instanceof FormatError) return 'other';
  throw error;
}

function foundIn(names: readonly string[]): Pick<Archive, 'tenants' | 'leftovers'> {
  const tenants = new Map<string, FoundPart[]>();
  const leftovers = new Map<string, string[]>();
  const archived = names.map(parseNamed).filter((found) => found !== null);
  const stems = new Set(archived.filter(({ isManifest }) => isManifest).map(({ stem }) => stem));
  for (const { name, tenantId, stem, first, last, isManifest } of archived) {
    if (isManifest) listOf(tenants, tenantId).push({ stem, first, last });
    else if (!stems.has(stem)) listOf(leftovers, tenantId).push(name);
  }
  for (const parts of tenants.values()) parts.sort((a, b) => a.first - b.first || a.last - b.last);
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
