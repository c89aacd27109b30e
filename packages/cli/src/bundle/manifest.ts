import {
  isCount,
  isDigest,
  isMoment,
  isObject,
  isUuid,
  openManifest,
  type Plan,
  type WithholdableSegment,
  withholdableSegments,
} from '@indelible/protocol';

/* The folder that an auditor verifies offline; docs/verification.md describes it. */

export const bundleFormat = 'indelible-bundle/v1';

/** The files besides the tiles. SHA256SUMS lists all files except the manifest. */
export const bundleFiles = {
  readme: 'README.txt',
  manifest: 'manifest.json',
  checkpoint: 'checkpoint',
  keys: 'indelible-log.json',
  events: 'events.ndjson',
  retention: 'retention.json',
  sums: 'SHA256SUMS',
} as const;

/** A bundle's description. Nothing in it is proven: contradictions to the log are findings. */
export interface Manifest {
  format: typeof bundleFormat;
  tenantId: string;
  origin: string;
  /** Number of entries: the checkpoint's size. */
  size: number;
  madeAt: string;
  /** Empty: a bundle contains every event that the plan shows. */
  filter: Record<string, never>;
  range: { from: null; to: null };
  withheld: WithholdableSegment[];
  /** Null if the exporting key could not read it; the log itself shows more. */
  plan: Plan | null;
  /** The service shows nothing older; such bodies may be absent. */
  cutoff: string | null;
  counts: { entries: number; events: number };
  /** SHA-256 in hexadecimal, by file name, of the files besides the tiles. */
  sha256: Record<string, string>;
}

/** Reads a manifest. FormatError for another format. */
export function parseManifest(text: string): Manifest {
  const { json, need } = openManifest(text);
  const { format, tenantId, size, counts, sha256, filter, range } = json;
  need(format === bundleFormat, 'format: this program reads indelible-bundle/v1');
  need(typeof tenantId === 'string' && isUuid(tenantId), 'tenantId');
  need(typeof json.origin === 'string', 'origin');
  need(isCount(size), 'size');
  need(isMoment(json.madeAt), 'madeAt');
  need(isObject(filter) && Object.keys(filter).length === 0, 'filter (only all events are known)');
  need(isObject(range) && range.from === null && range.to === null, 'range (only the whole)');
  need(Array.isArray(json.withheld) && json.withheld.every(isWithholdable), 'withheld');
  need(json.plan === null || typeof json.plan === 'string', 'plan');
  need(json.cutoff === null || isMoment(json.cutoff), 'cutoff');
  need(isObject(counts) && isCount(counts.entries) && isCount(counts.events), 'counts');
  need(isObject(sha256) && Object.values(sha256).every(isDigest), 'sha256');
  return json as unknown as Manifest;
}

function isWithholdable(value: unknown): boolean {
  return (withholdableSegments as readonly unknown[]).includes(value);
}
