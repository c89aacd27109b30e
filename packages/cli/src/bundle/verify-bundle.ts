import { createHash } from 'node:crypto';
import {
  type BodyCounts,
  clockSlackMs,
  counted,
  type EventBody,
  type Findings,
  type Plan,
  type Plans,
  parseTimestamp,
  readOrNull,
  type ServiceRecords,
} from '@indelible/protocol';
import type { Reading } from '../verify/entry-file.ts';
import { readBodies } from '../verify/log-bodies.ts';
import { readEntries } from '../verify/log-entries.ts';
import type { Progress } from '../verify/log-source.ts';
import { type Outcome, type Report, verified } from '../verify/report.ts';
import { type SeenOf, seenOfFiles } from '../verify/seen-checkpoints.ts';
import {
  compareWithWindows,
  type SignedCheckpoint,
  trustedCheckpoint,
} from '../verify/trusted-checkpoint.ts';
import { BundleFiles } from './bundle-files.ts';
import { checkFiles, compareDigest, orFinding } from './check-files.ts';
import { bundleFiles, type Manifest, parseManifest } from './manifest.ts';

/** The file of an export, or a receipt, to compare with a bundle. */
export interface BundleCheck {
  what: Report['what'];
  subject: string;
  /** Called first; throws UsageError if it cannot belong to this bundle. */
  begin?: (manifest: Manifest) => void;
  /** Called for each event that matches its entry. */
  onIntact?: (body: EventBody) => void;
  /** Called after the bundle was verified, with all its entries. */
  finish(bundle: Reading): Pick<Outcome, 'unproven' | 'follows' | 'doesNotFollow'>;
}

export interface BundleOptions {
  /** vkey lines from another source; empty: those in the bundle. */
  vkeys: readonly string[];
  /** The tenant's plan according to the user; null: the plan in the log. */
  plan: Plan | null;
  /** The service's plans; default: the default plans. */
  plans?: Plans | undefined;
  /** The clock for the bundle's age; default: the machine's. */
  now?: () => number;
  progress: Progress;
  check?: BundleCheck;
  /** The checkpoints of the tenant's log that this machine has verified; default: none. */
  seenOf?: SeenOf | undefined;
}

/**
 * Verifies a bundle from its files only: checksums, signature, entries, root, hash tiles, bodies;
 * then the additional check. Throws UsageError if the folder is not a bundle; everything else is in
 * the report.
 */
export async function verifyBundle(folder: string, options: BundleOptions): Promise<Report> {
  const { what = 'bundle', subject = folder } = options.check ?? {};
  const run = (reading: Reading) => verifyFolder(folder, options, reading);
  return verified(what, subject, options.progress, run);
}

async function verifyFolder(
  folder: string,
  options: BundleOptions,
  reading: Reading,
): Promise<Outcome> {
  const { findings } = reading;
  const bundle = new BundleFiles(folder);
  const manifest = orFinding(findings, () => parseManifest(bundle.manifest()));
  if (manifest === null) return { signed: null };
  options.check?.begin?.(manifest);
  const { count: files, unlisted } = await checkFiles(bundle, manifest, reading);
  const signed = await checkpointOf(bundle, options.vkeys, findings);
  if (signed === null) return { signed, checked: { files } };
  compareWithManifest(signed, manifest, findings);
  const outcome = await verifyFiles(reading, { bundle, manifest, signed, options });
  const checked = { files, ...outcome.checked };
  const doesNotFollow = [...(outcome.doesNotFollow ?? []), ...unlistedSentence(unlisted)];
  return { ...outcome, doesNotFollow, checked };
}

interface Run {
  bundle: BundleFiles;
  manifest: Manifest;
  signed: SignedCheckpoint;
  options: BundleOptions;
}

async function verifyFiles(reading: Reading, run: Run): Promise<Outcome> {
  const { findings, file, records } = reading;
  const { bundle, manifest, signed, options } = run;
  const { checkpoint } = signed;
  const { check } = options;
  const all = options.seenOf?.(manifest.tenantId.toLowerCase());
  const { earlier, ...seen } = seenOfFiles(checkpoint, all);
  const { tiles, differs } = await readEntries(reading, { checkpoint, source: bundle, earlier });
  if (file.size === checkpoint.size) compareWithWindows(reading, signed);
  const digest = createHash('sha256');
  const read = await readBodies(reading, {
    checkpoint,
    chunks: bundle.bodies(digest),
    tenantId: manifest.tenantId.toLowerCase(),
    beyondCheckpoint: 'finding',
    onIntact: check?.onIntact,
  });
  const { events } = bundleFiles;
  if (bundle.has(events)) {
    compareDigest(events, digest.digest('hex'), manifest.sha256[events], findings);
  }
  const { counts, ...bodies } = read.finish({
    nowMs: madeAtOf(manifest, options.now ?? Date.now, findings),
    statedPlan: manifest.plan,
    knownPlan: options.plan,
    plans: options.plans,
    withheld: manifest.withheld,
    statedCutoffMs: manifest.cutoff === null ? null : parseTimestamp(manifest.cutoff),
  });
  compareIndex(bundle, records, findings);
  compareCounts(manifest, counts, findings);
  const more = check?.finish(reading) ?? {};
  return {
    signed,
    differs,
    ...bodies,
    ...seen,
    ...more,
    doesNotFollow: [...seen.doesNotFollow, ...(more.doesNotFollow ?? [])],
    checked: { entries: file.size, tiles, bodies: counts },
  };
}

/** The bundle's stated date. A future date is a finding: more events would have expired by then. */
function madeAtOf({ madeAt }: Manifest, now: () => number, findings: Findings): number {
  const [madeAtMs, nowMs] = [parseTimestamp(madeAt) ?? Number.NaN, now()];
  if (madeAtMs <= nowMs + clockSlackMs) return madeAtMs;
  const message = 'The manifest says that the bundle was made at a time in the future.';
  findings.add('malformed_file', message);
  return nowMs;
}

/** The index is for people: the log must contain what it lists, and alone explains an absence. */
function compareIndex(bundle: BundleFiles, { removals }: ServiceRecords, findings: Findings): void {
  const proven = new Map(removals.map((each) => [each.sequence, each]));
  for (const stated of orFinding(findings, () => bundle.retention()) ?? []) {
    const { sequence, cutoffMs, size } = stated;
    const record = proven.get(sequence);
    if (record?.cutoffMs === cutoffMs && record.size === size) continue;
    const message =
      `${bundleFiles.retention} states a removal at sequence ${sequence} that the log does ` +
      'not record.';
    findings.add('malformed_file', message);
  }
}

function compareCounts(manifest: Manifest, counts: BodyCounts, findings: Findings): void {
  const { events, entries } = manifest.counts;
  if (events !== counts.bodies || entries !== manifest.size) {
    const message =
      `The manifest states ${events} events and ${entries} entries; there are ` +
      `${counts.bodies} events and ${manifest.size} entries.`;
    findings.add('malformed_file', message);
  }
}

function unlistedSentence(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const shown = names.slice(0, 3).join(', ');
  const more = names.length > 3 ? ', …' : '';
  return [
    `Anything about ${counted(names.length, 'file that is', 'files that are')} not part of the ` +
      `bundle: ${shown}${more}.`,
  ];
}

async function checkpointOf(
  bundle: BundleFiles,
  pinned: readonly string[],
  findings: Findings,
): Promise<SignedCheckpoint | null> {
  const note = readOrNull(() => bundle.checkpoint());
  if (note === null) return null; // a finding already
  const keys = orFinding(findings, () => bundle.vkeys());
  if (pinned.length > 0) {
    const { windows = [] } = keys ?? {};
    return trustedCheckpoint(note, { source: 'pinned', vkeys: [...pinned], windows }, findings);
  }
  return keys && trustedCheckpoint(note, { source: 'bundle', ...keys }, findings);
}

function compareWithManifest(signed: SignedCheckpoint, manifest: Manifest, findings: Findings) {
  const { origin, size } = signed.checkpoint;
  if (manifest.origin === origin && manifest.size === size) return;
  const message =
    `The manifest states ${manifest.size} entries of ${manifest.origin}, the checkpoint ` +
    `${size} of ${origin}.`;
  findings.add('malformed_file', message);
}
