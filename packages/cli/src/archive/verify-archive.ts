import {
  type Checkpoint,
  counted,
  createFrontier,
  EntryPass,
  emptyLogState,
  equalBytes,
  type Findings,
  FormatError,
  latest,
  leafHash,
  type Plans,
  parseBase64,
  parseTimestamp,
} from '@indelible/protocol';
import type { Archive, FoundPart, NamedPart } from '@indelible/server';
import { sentenceOf, UsageError } from '../io.ts';
import type { EntryFile, Reading } from '../verify/entry-file.ts';
import { sha } from '../verify/hashing.ts';
import { addChunks, type BodyChunk, LogBodies } from '../verify/log-bodies.ts';
import type { Span } from '../verify/log-entries.ts';
import type { Progress } from '../verify/log-source.ts';
import { type Outcome, type Report, verified } from '../verify/report.ts';
import { type SeenOf, seenOfFiles } from '../verify/seen-checkpoints.ts';
import { compareWithWindows, type SignedCheckpoint } from '../verify/trusted-checkpoint.ts';
import {
  continuedBy,
  earlierCheckpoints,
  lastCheckpoint,
  statedErasures,
} from './archive-checkpoints.ts';
import { readManifests } from './parts.ts';

export interface ArchiveOptions {
  /** The tenant, if the archive has several. */
  tenantId: string | null;
  /** vkey lines from another source; empty: those that the archive states. */
  vkeys: readonly string[];
  /** The service's plans; default: the default plans. */
  plans?: Plans | undefined;
  progress: Progress;
  /** The checkpoints of the tenant's log that this machine has verified; default: none. */
  seenOf?: SeenOf | undefined;
}

/**
 * Verifies a tenant's archive, in a folder or at an s3 URL, from its files only: checksums,
 * sequence of parts, signatures, entries recomputed from the columns, root, bodies. Throws
 * UsageError if there is no archive, or several tenants and none is named; everything else is in
 * the report.
 */
export async function verifyArchive(where: string, options: ArchiveOptions): Promise<Report> {
  options.progress.stage('files', null);
  const { openArchive } = await import('@indelible/server');
  const archive = await openArchive(where).catch((error: unknown) => {
    throw new UsageError(`${where} cannot be read as an archive: ${sentenceOf(error)}`);
  });
  try {
    return await verifyTenantArchive(where, archive, options);
  } finally {
    await archive.close();
  }
}

async function verifyTenantArchive(
  subject: string,
  archive: Archive,
  options: ArchiveOptions,
): Promise<Report> {
  const [tenantId, found] = tenantOf(subject, archive, options.tenantId);
  return verified('archive', subject, options.progress, async (reading) => {
    const { findings } = reading;
    const parts = await readManifests(archive, tenantId, found, findings);
    const manifests = parts.map(({ manifest }) => manifest);
    const signed = await lastCheckpoint(manifests, options.vkeys, findings);
    if (signed === null) return { signed };
    const own = await earlierCheckpoints(manifests, options.vkeys, signed.end, findings);
    const { plans, seenOf } = options;
    const { earlier, ...seen } = seenOfFiles(signed.end, seenOf?.(tenantId));
    const run = { archive, tenantId, parts, signed, earlier: [...own, ...earlier], plans };
    const outcome = await verifyParts(reading, run);
    const others = othersSentence(archive.others(tenantId, parts));
    const doesNotFollow = [unreadSentence, ...others, ...seen.doesNotFollow];
    return { ...outcome, ...seen, doesNotFollow, signed: atEnd(signed) };
  });
}

const unreadSentence =
  'That query engines show every row: they skip rows by statistics and indexes in the files, ' +
  'which are not checked.';

function othersSentence(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  return [
    `Anything about ${counted(names.length, 'file')} that no manifest names, such as ${names[0]}. An ` +
      'interrupted run may have left them. Move them away before a query engine reads this folder.',
  ];
}

/** The checkpoint that the entries were compared with, and its note. */
function atEnd({ end, ...signed }: SignedCheckpoint & { end: Checkpoint }): SignedCheckpoint {
  return { ...signed, checkpoint: end };
}

function tenantOf(
  where: string,
  archive: Archive,
  tenantId: string | null,
): [string, readonly FoundPart[]] {
  const ids = [...archive.tenants.keys()];
  const id = tenantId ?? ids[0];
  const parts = id === undefined ? undefined : archive.tenants.get(id);
  if (id === undefined || parts === undefined) {
    const whose = tenantId === null ? '' : ` of the tenant ${tenantId}`;
    throw new UsageError(
      `${where} holds no archive${whose}: "indelible archive run" makes the one of a service`,
    );
  }
  if (tenantId !== null || ids.length === 1) return [id, parts];
  throw new UsageError(
    `${where} holds ${ids.length} tenants; choose by --tenant: ${ids.join(', ')}`,
  );
}

interface Run {
  archive: Archive;
  tenantId: string;
  parts: readonly NamedPart[];
  signed: SignedCheckpoint & { end: Checkpoint };
  earlier: readonly Checkpoint[];
  plans: Plans | undefined;
}

async function verifyParts(reading: Reading, run: Run): Promise<Outcome> {
  const { findings, file, progress } = reading;
  const { parts, signed, earlier, tenantId, plans } = run;
  const { end: checkpoint } = signed;
  const entries = new EntryPass({ sha, findings, checkpoint, earlier });
  const bodies = new LogBodies(reading, { checkpoint, tenantId });
  progress.stage('events', checkpoint.size);
  const read = { files: 0 };
  const chunks = bodyChunks(reading, run, entries, read);
  await addChunks(bodies, reading, { chunks });
  entries.finish();
  const differs = isRootWrong(findings) ? firstWrong(parts, file) : null;
  compareWithWindows(reading, signed);
  const erasures = statedErasures(parts, checkpoint.size);
  const claims = { plans, ...statedBy(parts), statedErasures: erasures };
  const { counts, ...judged } = bodies.finish(claims);
  const { size } = signed.checkpoint;
  const follows = size > checkpoint.size ? [continuedBy(checkpoint.size, size)] : [];
  const checked = { ...read, entries: file.size, bodies: counts };
  return { signed, checked, ...judged, differs, follows };
}

/** What the manifests state as hidden; the log's own records must confirm it. */
function statedBy(parts: readonly NamedPart[]) {
  const timeOf = (text: string | null) => (text === null ? null : parseTimestamp(text));
  const last = (times: (number | null)[]) => times.reduce(latest, null);
  const madeMs = last(parts.map(({ manifest }) => timeOf(manifest.madeAt))) ?? 0;
  return {
    nowMs: Math.min(Date.now(), madeMs),
    statedCutoffMs: last(parts.map(({ manifest }) => timeOf(manifest.cutoff))),
    // A plan may have changed after the last checkpoint; the log does not show that yet.
    statedPlan: null,
    knownPlan: null,
  };
}

const rootCodes = ['root_mismatch', 'earlier_root_mismatch'] as const;

function isRootWrong(findings: Findings): boolean {
  const counts = findings.countByCode();
  return rootCodes.some((code) => counts[code] !== undefined);
}

/** The first part whose entries do not give the root of its manifest. */
function firstWrong(parts: readonly NamedPart[], file: EntryFile): Span | null {
  const tree = createFrontier(emptyLogState, sha);
  for (const { part, manifest } of parts) {
    const { first, last } = part;
    if (last >= file.size) return null;
    for (let at = first; at <= last; at += 1) tree.append(leafHash(sha, file.at(at)));
    const root = parseBase64(manifest.root);
    if (root === null || !equalBytes(tree.root(), root)) return { from: first, to: last };
  }
  return null;
}

async function checkFiles(
  { findings }: Reading,
  archive: Archive,
  { part, manifest }: NamedPart,
): Promise<number> {
  const { events, identity } = manifest.files;
  for (const file of [events, identity]) {
    const state = await archive.check(part, file);
    const position = { sequence: part.first };
    if (state === 'missing') {
      findings.add('missing_file', `The file ${file.name} is missing.`, position);
    } else if (state === 'other') {
      // The entries may show which of its rows it is.
      findings.add('file_mismatch', `The file ${file.name} differs from its manifest.`);
    }
  }
  return 2;
}

/** The body lines of all parts; counts the files and takes the entries. */
async function* bodyChunks(
  reading: Reading,
  { archive, parts }: Run,
  entries: EntryPass,
  read: { files: number },
): AsyncGenerator<BodyChunk> {
  for (const part of parts) {
    read.files += await checkFiles(reading, archive, part);
    if (!(yield* partChunks(reading, archive, part, entries))) return;
  }
}

/** False if the part could not be read completely: later entries cannot be placed in the log. */
async function* partChunks(
  { findings, file, progress }: Reading,
  archive: Archive,
  named: NamedPart,
  entries: EntryPass,
): AsyncGenerator<BodyChunk, boolean> {
  const { archivedBodyLine, archivedEntryOf } = await import('@indelible/server');
  const { part } = named;
  try {
    for await (const rows of archive.read(named)) {
      const first = file.size;
      const misplaced = rows.findIndex(({ sequence }, index) => sequence !== first + index);
      const taken = misplaced === -1 ? rows : rows.slice(0, misplaced);
      const each = taken.map((row) => archivedEntryOf(sha, row));
      for (const entry of each) entries.add(entry);
      file.append(Buffer.concat(each));
      const lines = taken.map(archivedBodyLine).filter((line) => line !== null);
      progress.advance(taken.length - lines.length);
      const text = lines.map((line) => `${line}\n`).join('');
      yield { bytes: Buffer.from(text), cutoffMs: null };
      if (misplaced !== -1) throw new FormatError(`${file.size} should follow`);
    }
    if (file.size === part.last + 1) return true;
    throw new FormatError(`it ends before sequence ${file.size}`);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const message = `The archive part from sequence ${part.first} on cannot be read: ${error.message}.`;
    findings.add('malformed_file', message, { sequence: file.size });
    return false;
  }
}
