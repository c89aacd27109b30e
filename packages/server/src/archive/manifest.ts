import {
  isCount,
  isDigest,
  isMoment,
  isObject,
  isUuid,
  openManifest,
  type Plan,
  parseBase64,
  type WithholdableSegment,
  withholdableSegments,
} from '@indelible/protocol';

export const archiveFormat = 'indelible-archive/v1';

/** A file of an archive part; `name` is without its folder. */
export interface ArchivedFile {
  name: string;
  bytes: number;
  /** SHA-256 in hexadecimal. */
  sha256: string;
}

/** An erasure that the log records after the archived entries, at `size`. Without names. */
export interface StatedErasure {
  segment: WithholdableSegment;
  /** Events of these actors below `size`, except as operators. */
  actors: string[];
  /** And these events: `evt_audit_…` */
  events: string[];
  size: number;
}

/** Describes an archive part. Written last: files without a manifest are not in the archive. */
export interface ArchiveManifest {
  format: typeof archiveFormat;
  tenantId: string;
  /** As it was then, so that the archive alone can restore a service. */
  tenant: { name: string; plan: Plan; locale: string; timeZone: string; legalHold: boolean };
  first: number;
  last: number;
  counts: {
    entries: number;
    /** Entries with their event. */
    events: number;
    /** Entries whose event was removed by retention or hidden by the plan. */
    absent: number;
    /** Entries that did not match the stored event: damage, archived as found. */
    contradicted: number;
  };
  madeAt: string;
  /** The plan hid older events; null under a legal hold. */
  cutoff: string | null;
  files: { events: ArchivedFile; identity: ArchivedFile };
  /**
   * Explains segments of which only the hash remains, until the archive contains the log's record.
   */
  erasures?: StatedErasure[];
  /** Root of the log up to and including `last`, Base64. */
  root: string;
  /** A signed checkpoint of this size or larger. */
  checkpoint: string;
  /**
   * Proves that the checkpoint continues `root` (RFC 6962), Base64; empty if the sizes are equal.
   */
  consistency: string[];
  /** Keys of the log as the service knew them. */
  keys: { vkey: string; notBefore: string; notAfter: string | null }[];
}

export function formatManifest(manifest: ArchiveManifest): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`);
}

/** Reads a manifest. FormatError for another format. */
export function parseManifest(bytes: Uint8Array): ArchiveManifest {
  const { json, need } = openManifest(new TextDecoder().decode(bytes));
  const { tenant, counts, files, consistency, keys } = json;
  need(json.format === archiveFormat, `format: this program reads ${archiveFormat}`);
  need(typeof json.tenantId === 'string' && isUuid(json.tenantId), 'tenantId');
  need(isObject(tenant) && isTenant(tenant), 'tenant');
  need(isCount(json.first) && isCount(json.last) && json.first <= json.last, 'first and last');
  need(isObject(counts) && Object.values(counts).every(isCount), 'counts');
  need(isMoment(json.madeAt), 'madeAt');
  need(json.cutoff === null || isMoment(json.cutoff), 'cutoff');
  need(isObject(files) && isFile(files.events) && isFile(files.identity), 'files');
  need(json.erasures === undefined || isErasures(json.erasures), 'erasures');
  need(isHash(json.root), 'root');
  need(typeof json.checkpoint === 'string', 'checkpoint');
  need(Array.isArray(consistency) && consistency.every(isHash), 'consistency');
  need(Array.isArray(keys) && keys.every(isKey), 'keys');
  return json as unknown as ArchiveManifest;
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && parseBase64(value)?.length === 32;
}

function isTenant({ name, plan, locale, timeZone, legalHold }: Record<string, unknown>): boolean {
  const texts = [name, plan, locale, timeZone].every((text) => typeof text === 'string');
  return texts && typeof legalHold === 'boolean';
}

// A name is a path: it must not lead out of the part's folder.
function isFile(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { name, bytes, sha256 } = value;
  const isName = typeof name === 'string' && /^[0-9][\w.-]*\.parquet$/.test(name);
  return isName && isCount(bytes) && isDigest(sha256);
}

function isErasures(value: unknown): boolean {
  const isTexts = (list: unknown) =>
    Array.isArray(list) && list.every((each) => typeof each === 'string');
  const isErasure = (each: unknown) =>
    isObject(each) &&
    (withholdableSegments as readonly unknown[]).includes(each.segment) &&
    isTexts(each.actors) &&
    isTexts(each.events) &&
    isCount(each.size);
  return Array.isArray(value) && value.every(isErasure);
}

function isKey(value: unknown): boolean {
  return isObject(value) && typeof value.vkey === 'string';
}
