import { createReadStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { FormatError } from '@indelible/protocol';
import { filesBelow, InsideFolder } from '../objects/inside-folder.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { openObject } from '../objects/read-object.ts';
import type { ArchivedRow } from './archived-row.ts';
import { archiveFolder, monthOf, namesOfStem, parseArchiveName } from './layout.ts';
import type { ArchiveManifest, PartFile } from './manifest.ts';
import { bytesMax, openCopies } from './part-files.ts';
import type { PartRow } from './store.ts';

/** A part as its names describe it. */
export type FoundPart = Pick<PartRow, 'stem' | 'first' | 'last'>;

export interface NamedPart {
  part: FoundPart;
  manifest: ArchiveManifest;
}

/** An untrusted archive in any store, for verification and restore. */
export type Archive = Awaited<ReturnType<typeof openArchive>>;

/** The files of an archive, with names relative to its root. */
interface Source {
  names: string[];
  /** Null if absent; FormatError if it is longer or not a regular file. */
  open(name: string, bytesMax: number): Promise<Readable | null>;
}

/**
 * Opens an archive in a folder, or below an `s3://bucket/prefix/archive` URL with the parameters of
 * OBJECT_STORE_URL. Throws a sentence if it cannot be read.
 */
export async function openArchive(where: string) {
  const source = /^s3:/.test(where) ? await s3Source(where) : await folderSource(pathOf(where));
  const copies = await openCopies(join(tmpdir(), 'indelible-archive-'));
  return {
    /** Parts with a manifest, by tenant, in the order of the log. */
    tenants: partsIn(source.names),
    /** The tenant's files that belong to none of these parts; an interrupted run leaves some. */
    others(tenantId: string, parts: readonly NamedPart[]): string[] {
      const named = new Set(parts.flatMap(namesOf));
      const isIn = (name: string) => name.includes(`tenant=${tenantId}/`);
      return source.names.filter((name) => isIn(name) && !named.has(name)).sort();
    },
    /** Null if absent; FormatError if it is not a regular file, or too long. */
    async manifest({ stem }: FoundPart): Promise<Uint8Array | null> {
      const found = await source.open(namesOfStem(stem).manifest, bytesMax.manifest);
      return found && Buffer.concat(await found.toArray());
    },
    /**
     * Compares a copy of a file, which is read later, with its manifest. A file that is not
     * regular, or longer than any that is written, is `other`.
     */
    check(part: FoundPart, file: PartFile) {
      const kind = file.name.includes('-identity') ? 'identity' : 'events';
      const open = () => source.open(partPath(part, file.name), bytesMax.parquet);
      return copies.copy(kind, file, open);
    },
    /**
     * The rows, in order and in pages, of the two files that were checked last. FormatError if they
     * are not files of a part, or in the folder of another month.
     */
    read: ({ part, manifest }: NamedPart) => ofMonth(part, copies.rows(manifest.tenantId)),
    /** Removes temporary copies. */
    close: copies.remove,
  };
}

const folderOf = ({ stem }: FoundPart) => stem.slice(0, stem.lastIndexOf('/'));
const partPath = (part: FoundPart, name: string) => `${folderOf(part)}/${name}`;

function namesOf({ part, manifest: { files } }: NamedPart): string[] {
  const { manifest } = namesOfStem(part.stem);
  return [manifest, partPath(part, files.events.name), partPath(part, files.identity.name)];
}

/** The rows, if the folder names their month: query engines take year and month from there. */
async function* ofMonth(part: FoundPart, pages: AsyncIterable<ArchivedRow[]>) {
  const isOther = ({ receivedAtUs }: ArchivedRow) =>
    !folderOf(part).endsWith(monthOf(receivedAtUs));
  for await (const rows of pages) {
    // Receipt times never go back.
    const other = [...rows.slice(0, 1), ...rows.slice(-1)].find(isOther);
    if (other)
      throw new FormatError(`sequence ${other.sequence} is in the folder of another month`);
    yield rows;
  }
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
  const open = (name: string, longest: number) => openObject(objects, name, longest);
  return { names: await objects.list(listed), open };
}

function partsIn(names: readonly string[]): Map<string, FoundPart[]> {
  const tenants = new Map<string, FoundPart[]>();
  for (const found of names.map(parseArchiveName)) {
    if (found?.isManifest) listOf(tenants, found.tenantId).push(found);
  }
  for (const parts of tenants.values()) parts.sort((a, b) => a.first - b.first || a.last - b.last);
  return tenants;
}

function listOf<T>(map: Map<string, T[]>, key: string): T[] {
  const list = map.get(key) ?? [];
  map.set(key, list);
  return list;
}
