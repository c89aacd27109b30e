/* The archive's names in the object store; docs/archive.md describes them. */

/** Folder of the archive; the store also holds checkpoints and exports. */
export const archiveFolder = 'archive';

/** The object names of a part; `stem` ends in its sequences. */
export interface PartNames {
  stem: string;
  events: string;
  identity: string;
  manifest: string;
}

export interface PartRange {
  first: number;
  last: number;
}

export function tenantFolder(tenantId: string): string {
  return `${archiveFolder}/tenant=${tenantId}`;
}

/** The folder of entries that a tenant's log received in the month of this time (UTC). */
export function monthFolder(tenantId: string, receivedAtUs: number): string {
  return `${tenantFolder(tenantId)}/${monthOf(receivedAtUs)}`;
}

/** The name of a month's folder (UTC). */
export function monthOf(receivedAtUs: number): string {
  const [year, month] = new Date(Math.floor(receivedAtUs / 1_000)).toISOString().split('-');
  return `year=${year}/month=${month}`;
}

/** The month of this time (UTC), half-open. */
export function monthAround(receivedAtUs: number): { fromUs: number; beforeUs: number } {
  const time = new Date(Math.floor(receivedAtUs / 1_000));
  const startUs = (month: number) => Date.UTC(time.getUTCFullYear(), month) * 1_000;
  const month = time.getUTCMonth();
  return { fromUs: startUs(month), beforeUs: startUs(month + 1) };
}

export function partNames(folder: string, range: PartRange): PartNames {
  return namesOfStem(`${folder}/${digits(range.first)}-${digits(range.last)}`);
}

/**
 * The leading underscore hides the manifest from Athena and similar engines, which read every other
 * file of a folder as data.
 */
export function namesOfStem(stem: string): PartNames {
  const events = `${stem}.parquet`;
  return { stem, events, identity: `${stem}-identity.parquet`, manifest: manifestName(stem) };
}

function manifestName(stem: string): string {
  const slash = stem.lastIndexOf('/') + 1;
  return `${stem.slice(0, slash)}_${stem.slice(slash)}.json`;
}

const pattern =
  /^(?<folder>(?:.*\/)?tenant=(?<tenant>[0-9a-f-]{36})\/year=\d{4}\/month=\d{2})\/(?<mark>_?)(?<first>\d{12,16})-(?<last>\d{12,16})(?<rest>[^/]*)$/;

/** The content of an object's name; null if it is not of the archive. */
export interface ArchiveName extends PartRange {
  tenantId: string;
  stem: string;
  isManifest: boolean;
}

export function parseArchiveName(name: string): ArchiveName | null {
  const { folder = '', tenant = '', mark, first, last, rest } = pattern.exec(name)?.groups ?? {};
  if (tenant === '') return null;
  const isManifest = mark === '_' && rest === '.json';
  if (!isManifest && !(mark === '' && rest?.endsWith('.parquet'))) return null;
  const range = { first: Number(first), last: Number(last) };
  return { ...range, tenantId: tenant, stem: `${folder}/${first}-${last}`, isManifest };
}

function digits(sequence: number): string {
  return String(sequence).padStart(12, '0');
}
