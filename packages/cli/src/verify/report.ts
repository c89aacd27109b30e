import {
  type BodyCounts,
  type Checkpoint,
  eventIdFromUuid,
  type Findings,
  findingsKeptMax,
  formatBase64,
  formatTimestamp,
  logVerdict,
  uuidFromBytes,
  uuidFromEventId,
  uuidTimeMs,
} from '@indelible/protocol';
import type { ReportFinding } from './damage.ts';
import type { EntryFile } from './entry-file.ts';
import type { KeySource, SignedCheckpoint } from './trusted-checkpoint.ts';

/** The first thing that is wrong in the order of the log, as far as it has a place there. */
export interface FirstDamage {
  sequence: number;
  eventId: string | null;
  /** The event's own time, which its id carries. */
  timestamp: string | null;
}

/** What a verification came to; `--json` prints it as it is. */
export interface Report {
  what: 'log' | 'bundle' | 'csv' | 'receipt';
  /** A tenant's id, or the path of a file or folder. */
  subject: string;
  result: 'intact' | 'damaged';
  summary: string;
  /** What everything was held against; null when there is nothing trustworthy. */
  checkpoint: {
    origin: string;
    size: number;
    /** Base64, as in the note. */
    root: string;
    /** vkey lines of the keys that signed it, and where they are known from. */
    signedBy: string[];
    keysFrom: KeySource;
    note: string;
  } | null;
  /** The checkpoint this machine saw last before. */
  seenBefore: { size: number; seenAt: string } | null;
  checked: Checked;
  /** Before this moment bodies are said to be gone. */
  cutoff: string | null;
  follows: string[];
  doesNotFollow: string[];
  firstDamage: FirstDamage | null;
  findings: { count: number; byCode: Record<string, number>; kept: readonly ReportFinding[] };
  seconds: number;
}

/** How much of what was looked at; what does not apply is left out. */
export interface Checked {
  entries?: number;
  tiles?: number;
  bodies?: BodyCounts;
  /** Events recorded since the checkpoint, and the size the log had come to. */
  newer?: { events: number; size: number };
  files?: number;
  rows?: number;
}

export interface Outcome {
  what: Report['what'];
  subject: string;
  signed: SignedCheckpoint | null;
  seen?: { checkpoint: Checkpoint; seenAt: string } | null;
  earlierSizes?: readonly number[];
  checked: Checked;
  latestCutoffMs?: number | null;
  findings: Findings;
  /** The id of the event at a sequence, where its entry is known. */
  eventIdAt?: (sequence: number) => string | null;
  /** What else follows, and does not, beside what the passes over the log say. */
  follows?: readonly string[];
  doesNotFollow?: readonly string[];
  startedAt: number;
}

export function reportOf(outcome: Outcome): Report {
  const { what, subject, signed, checked, findings, latestCutoffMs = null } = outcome;
  const isDamaged = findings.count() > 0;
  const verdict = signed === null ? null : verdictOf(outcome, signed.checkpoint);
  const follows = [...(verdict?.follows ?? []), ...(outcome.follows ?? [])];
  return {
    what,
    subject,
    result: isDamaged ? 'damaged' : 'intact',
    summary: verdict?.summary ?? 'There is no trustworthy checkpoint: nothing can be verified.',
    checkpoint: signed && checkpointOf(signed),
    seenBefore: outcome.seen
      ? { size: outcome.seen.checkpoint.size, seenAt: outcome.seen.seenAt }
      : null,
    checked,
    cutoff: latestCutoffMs === null ? null : formatTimestamp(latestCutoffMs),
    follows: isDamaged ? [] : follows,
    doesNotFollow: [...(verdict?.doesNotFollow ?? []), ...(outcome.doesNotFollow ?? [])],
    firstDamage: firstDamageOf(findings, outcome.eventIdAt),
    findings: {
      count: findings.count(),
      byCode: findings.countByCode(),
      kept: findings.kept().slice(0, findingsKeptMax),
    },
    seconds: (performance.now() - outcome.startedAt) / 1_000,
  };
}

function verdictOf({ findings, checked, ...outcome }: Outcome, checkpoint: Checkpoint) {
  return logVerdict({
    checkpoint,
    findings,
    counts: checked.bodies ?? null,
    latestCutoffMs: outcome.latestCutoffMs ?? null,
    earlierSizes: outcome.earlierSizes ?? [],
  });
}

function checkpointOf({ checkpoint, signedBy, keys, note }: SignedCheckpoint) {
  const { origin, size, root } = checkpoint;
  return { origin, size, root: formatBase64(root), signedBy, keysFrom: keys.source, note };
}

function firstDamageOf(
  findings: Findings,
  eventIdAt: Outcome['eventIdAt'] = () => null,
): FirstDamage | null {
  const first = findings.first();
  if (first === null || first.sequence === null) return null;
  const { sequence } = first;
  // Of several findings about one place, any may know whose it is.
  const named = findings.kept().find((each) => each.sequence === sequence && each.eventId !== null);
  const eventId = named?.eventId ?? first.eventId ?? eventIdAt(sequence);
  const uuid = eventId === null ? null : uuidFromEventId(eventId);
  return { sequence, eventId, timestamp: uuid && formatTimestamp(uuidTimeMs(uuid)) };
}

/** The id of the event whose entry was read, or null. */
export function eventIdAt(file: EntryFile, sequence: number): string | null {
  return sequence < file.size ? eventIdFromUuid(uuidFromBytes(file.at(sequence), 12)) : null;
}
