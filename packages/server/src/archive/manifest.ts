import {
  isCount,
  isDigest,
  isMoment,
  isObject,
  isUuid,
  openManifest,
  parseBase64,
  parseVerifierKey,
  readOrNull,
  type WithholdableSegment,
  withholdableSegments,
} from '@indelible/protocol';
import { sha } from '../crypto/sha256.ts';
import type { TenantSettings } from '../tenants/tenant-settings.ts';

export const archiveFormat = 'indelible-archive/v1';

/** A file in the object store. */
export interface PartFile {
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

export type ArchivedSettings = Pick<
  TenantSettings,
  'name' | 'plan' | 'locale' | 'timeZone' | 'legalHold'
>;

/** Describes an archive part. Written last: files without a manifest are not in the archive. */
export interface ArchiveManifest {
  format: typeof archiveFormat;
  tenantId: string;
  /** The tenant's settings of that time, so that the archive alone can restore a service. */
  tenant: ArchivedSettings;
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
  /** Without their folder. */
  files: { events: PartFile; identity: PartFile };
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

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isBoolean: Check = (value) => typeof value === 'boolean';
const isHash: Check = (value) => typeof value === 'string' && parseBase64(value)?.length === 32;
const isVerifierKey: Check = (value) =>
  typeof value === 'string' && readOrNull(() => parseVerifierKey(sha, value)) !== null;
const listOf =
  (is: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(is);
const having =
  (members: Record<string, Check>): Check =>
  (value) =>
    isObject(value) && Object.entries(members).every(([name, is]) => is(value[name]));

const isFile = having({
  // A name is a path: it must not lead out of the part's folder.
  name: (name) => typeof name === 'string' && /^[0-9][\w.-]*\.parquet$/.test(name),
  bytes: isCount,
  sha256: isDigest,
});
const isErasure = having({
  segment: (name) => (withholdableSegments as readonly unknown[]).includes(name),
  actors: listOf(isText),
  events: listOf(isText),
  size: isCount,
});

const checks: Record<keyof ArchiveManifest, Check> = {
  format: (format) => format === archiveFormat,
  tenantId: (id) => typeof id === 'string' && isUuid(id),
  tenant: having({
    name: isText,
    plan: isText,
    locale: isText,
    timeZone: isText,
    legalHold: isBoolean,
  }),
  first: isCount,
  last: isCount,
  counts: (counts) => isObject(counts) && Object.values(counts).every(isCount),
  madeAt: isMoment,
  cutoff: (time) => time === null || isMoment(time),
  files: having({ events: isFile, identity: isFile }),
  erasures: (erasures) => erasures === undefined || listOf(isErasure)(erasures),
  root: isHash,
  checkpoint: isText,
  consistency: listOf(isHash),
  keys: listOf(having({ vkey: isVerifierKey })),
};

/** Reads a manifest. FormatError for another format. */
export function parseManifest(bytes: Uint8Array): ArchiveManifest {
  const { json, need } = openManifest(new TextDecoder().decode(bytes));
  need(checks.format(json.format), `format: this program reads ${archiveFormat}`);
  for (const [name, is] of Object.entries(checks)) need(is(json[name]), name);
  const manifest = json as unknown as ArchiveManifest;
  need(manifest.first <= manifest.last, 'first and last');
  return manifest;
}
