import { createHash } from 'node:crypto';
import { type Findings, FormatError, type Plan, parseTimestamp } from '@indelible/protocol';
import { type AllFindings, addDamage, createAllFindings } from '../verify/damage.ts';
import { EntryFile } from '../verify/entry-file.ts';
import { readBodies } from '../verify/log-bodies.ts';
import { readEntries } from '../verify/log-entries.ts';
import type { Progress } from '../verify/log-source.ts';
import { compareWithPlan } from '../verify/plan-comparison.ts';
import { eventIdAt, type Outcome, type Report, reportOf } from '../verify/report.ts';
import { type SignedCheckpoint, trustedCheckpoint } from '../verify/trusted-checkpoint.ts';
import { BundleFiles } from './bundle-files.ts';
import { checkFiles, compareDigest } from './check-files.ts';
import { bundleFiles, type Manifest, parseManifest } from './manifest.ts';

/** Something more that is held against a bundle: a table, a receipt. */
export interface BundleCheck {
  what: Report['what'];
  subject: string;
  /** Sees each body line. */
  onLine?: (line: Uint8Array) => void;
  /** Called when the bundle has been verified, with all its entries. */
  finish(verified: VerifiedBundle): Promise<Pick<Outcome, 'checked' | 'follows' | 'doesNotFollow'>>;
  close(): void;
}

export interface VerifiedBundle {
  manifest: Manifest;
  file: EntryFile;
  findings: Findings;
  progress: Progress;
}

export interface BundleOptions {
  /** vkey lines known from elsewhere; empty: those that come with the bundle. */
  vkeys: readonly string[];
  /** The plan the caller knows the tenant to have; null: the one that the bundle states. */
  plan: Plan | null;
  progress: Progress;
  check?: BundleCheck;
}

/**
 * Verifies a bundle from its files alone: checksums, signature, entries, root, hash tiles, bodies;
 * then what else is to be held against it. Throws UsageError when the folder is no bundle; whatever
 * else is wrong is in the report.
 */
export async function verifyBundle(folder: string, options: BundleOptions): Promise<Report> {
  return verifyFolder(folder, options).finally(() => options.check?.close());
}

async function verifyFolder(folder: string, options: BundleOptions): Promise<Report> {
  const startedAt = performance.now();
  const findings = createAllFindings();
  const bundle = new BundleFiles(folder);
  const { what = 'bundle', subject = folder } = options.check ?? {};
  const about = { what, subject, findings, startedAt } as const;
  const manifest = readManifest(bundle, findings);
  if (manifest === null) return reportOf({ ...about, signed: null, checked: {} });
  const files = await checkFiles(bundle, manifest, findings, options.progress);
  const signed = await checkpointOf(bundle, options.vkeys, findings);
  if (signed === null) return reportOf({ ...about, signed, checked: { files } });
  compareWithManifest(signed, manifest, findings);
  const file = new EntryFile();
  try {
    const run = { bundle, manifest, findings, signed, file, options };
    const outcome = await verifyFiles(run);
    const checked = { files, ...outcome.checked };
    return reportOf({ ...about, ...outcome, signed, checked });
  } finally {
    file.close();
  }
}

interface Run {
  bundle: BundleFiles;
  manifest: Manifest;
  findings: AllFindings;
  signed: SignedCheckpoint;
  file: EntryFile;
  options: BundleOptions;
}

type Verified = Pick<
  Outcome,
  'checked' | 'latestCutoffMs' | 'differs' | 'eventIdAt' | 'follows' | 'doesNotFollow'
>;

async function verifyFiles(run: Run): Promise<Verified> {
  const { bundle, manifest, findings, signed, file, options } = run;
  const { progress, check } = options;
  const log = { checkpoint: signed.checkpoint, findings, file, progress };
  const { tiles, differs } = await readEntries({ ...log, source: bundle, earlier: [] });
  const digest = createHash('sha256');
  const bodies = await readBodies({
    ...log,
    chunks: bundle.bodies(digest),
    tenantId: manifest.tenantId.toLowerCase(),
    records: retentionOf(bundle, manifest, findings),
    beyondCheckpoint: 'finding',
    ...(check?.onLine ? { onLine: check.onLine } : {}),
  });
  const { events } = bundleFiles;
  if (bundle.has(events)) {
    compareDigest(events, digest.digest('hex'), manifest.sha256[events], findings);
  }
  compareWithPlan(options.plan ?? manifest.plan, bodies.latestCutoffMs, findings);
  const more = await check?.finish({ manifest, file, findings, progress });
  return {
    checked: { entries: file.size, tiles, bodies: bodies.counts, ...more?.checked },
    latestCutoffMs: bodies.latestCutoffMs,
    differs,
    eventIdAt: (sequence) => eventIdAt(file, sequence),
    follows: more?.follows ?? [],
    doesNotFollow: more?.doesNotFollow ?? [],
  };
}

function readManifest(bundle: BundleFiles, findings: Findings): Manifest | null {
  return orFinding(findings, () =>
    parseManifest(bundle.read(bundleFiles.manifest)?.toString() ?? ''),
  );
}

async function checkpointOf(
  bundle: BundleFiles,
  pinned: readonly string[],
  findings: Findings,
): Promise<SignedCheckpoint | null> {
  const note = bundle.read(bundleFiles.checkpoint);
  if (note === null) return null; // its absence is a finding already
  if (pinned.length > 0) {
    return trustedCheckpoint(note, { source: 'pinned', vkeys: [...pinned] }, findings);
  }
  const vkeys = orFinding(findings, () => bundle.vkeys());
  return vkeys && trustedCheckpoint(note, { source: 'bundle', vkeys }, findings);
}

function compareWithManifest(signed: SignedCheckpoint, manifest: Manifest, findings: Findings) {
  const { origin, size } = signed.checkpoint;
  if (manifest.origin === origin && manifest.size === size) return;
  const message = `The manifest speaks of ${manifest.size} entries of ${manifest.origin}, the checkpoint of ${size} of ${origin}.`;
  addDamage(findings, 'malformed_file', message);
}

/** The bundle's statements about bodies that are gone; none where they cannot be read. */
function retentionOf(bundle: BundleFiles, { cutoff }: Manifest, findings: Findings) {
  const records = orFinding(findings, () => bundle.retention()) ?? [];
  const cutoffMs = cutoff === null ? null : parseTimestamp(cutoff);
  return cutoffMs === null ? records : [...records, { cutoffMs, size: Number.MAX_SAFE_INTEGER }];
}

function orFinding<T>(findings: Findings, read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    addDamage(findings, 'malformed_file', `A file of the bundle cannot be read: ${error.message}.`);
    return null;
  }
}
