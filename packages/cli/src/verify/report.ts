import {
  type BodyCounts,
  type Checkpoint,
  eventIdFromUuid,
  formatAnyTimestamp,
  formatBase64,
  logVerdict,
  type ProvenCover,
  sizedCheckpoint,
  uuidFromBytes,
  uuidFromEventId,
  uuidTimeMs,
} from '@indelible/protocol';
import type { AllFindings, ReportFinding } from './damage.ts';
import type { EntryFile } from './entry-file.ts';
import type { Span } from './log-entries.ts';
import type { KeySource, SignedCheckpoint } from './trusted-checkpoint.ts';

/** The first damage in the order of the log, as far as its position is known. */
export interface FirstDamage {
  sequence: number;
  /** Greater than `sequence` if it is only known to be one of these. */
  lastSequence: number;
  eventId: string | null;
  /** The event's time, from its id. */
  timestamp: string | null;
  /** The event of the log entry if it is another one; null if it is the same. */
  loggedEventId: string | null;
}

/** The result of a verification; `--json` prints it. */
export interface Report {
  what: 'log' | 'bundle' | 'archive' | 'csv' | 'receipt' | 'capsule';
  /** A tenant's id, or the path of a file or folder. */
  subject: string;
  /** `unproven`: no damage, but some conclusions depend on unproven statements. */
  result: 'intact' | 'unproven' | 'damaged';
  summary: string;
  unproven: string[];
  /** The checkpoint of the comparison; null if none is trusted. */
  checkpoint: {
    origin: string;
    size: number;
    /** Base64, as in the note. */
    root: string;
    /** vkey lines of the signing keys, and their source. */
    signedBy: string[];
    keysFrom: KeySource;
    note: string;
  } | null;
  /** The last checkpoint that this machine saw before. */
  seenBefore: { size: number; seenAt: string } | null;
  checked: Checked;
  /** Bodies before this time are stated to be removed. */
  cutoff: string | null;
  follows: string[];
  doesNotFollow: string[];
  firstDamage: FirstDamage | null;
  findings: { count: number; byCode: Record<string, number>; kept: readonly ReportFinding[] };
  seconds: number;
}

/** The amount of each kind that was checked; absent if it does not apply. */
export interface Checked {
  entries?: number;
  tiles?: number;
  bodies?: BodyCounts;
  /** Events recorded since the checkpoint, and the log's size then. */
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
  /** The plan that explains absent events, and its source. */
  plan?: ProvenCover['plan'];
  findings: AllFindings;
  /** Where entries start to differ from the signed ones, if nothing more precise is known. */
  differs?: Span | null;
  /** The id of the event at a sequence, if its entry is known. */
  eventIdAt?: (sequence: number) => string | null;
  /** Additional conclusions, besides those of the passes. */
  unproven?: readonly string[];
  follows?: readonly string[];
  doesNotFollow?: readonly string[];
  startedAt: number;
}

export function reportOf(outcome: Outcome): Report {
  const { what, subject, signed, checked, findings, latestCutoffMs = null } = outcome;
  const isDamaged = findings.count() > 0;
  const verdict = verdictOf(outcome);
  const { summary, follows, doesNotFollow } = verdict;
  const unproven = [...verdict.unproven, ...(outcome.unproven ?? [])];
  return {
    what,
    subject,
    result: isDamaged ? 'damaged' : unproven.length > 0 ? 'unproven' : 'intact',
    summary,
    unproven,
    checkpoint: signed && checkpointOf(signed),
    seenBefore: outcome.seen
      ? { size: outcome.seen.checkpoint.size, seenAt: outcome.seen.seenAt }
      : null,
    checked,
    cutoff: latestCutoffMs === null ? null : formatAnyTimestamp(latestCutoffMs),
    follows: isDamaged ? [] : [...follows, ...(outcome.follows ?? [])],
    doesNotFollow: [...doesNotFollow, ...(outcome.doesNotFollow ?? [])],
    firstDamage: firstDamageOf(outcome),
    findings: {
      count: findings.count(),
      byCode: findings.countByCode(),
      kept: [...findings.kept()].sort(bySequence),
    },
    seconds: (performance.now() - outcome.startedAt) / 1_000,
  };
}

/** The conclusions of the passes; none if they were not run. */
function verdictOf({ signed, findings, checked, ...outcome }: Outcome) {
  const none = { unproven: [], follows: [], doesNotFollow: [] };
  if (signed === null) {
    const summary = 'There is no valid checkpoint, so nothing can be verified.';
    return { summary, ...none };
  }
  const { checkpoint } = signed;
  const against = `Against ${sizedCheckpoint(checkpoint)}`;
  const count = findings.count();
  const summary = `${against}: ${count === 0 ? 'no damage in what was checked' : `${count} finding(s)`}.`;
  if (checked.entries === undefined) return { summary, ...none };
  const { unproven, follows, doesNotFollow } = logVerdict({
    checkpoint,
    findings,
    counts: checked.bodies ?? null,
    latestCutoffMs: outcome.latestCutoffMs ?? null,
    plan: outcome.plan ?? null,
    earlierSizes: outcome.earlierSizes ?? [],
  });
  return { summary, unproven, follows, doesNotFollow };
}

/** Findings of the whole log come first. */
function bySequence(a: ReportFinding, b: ReportFinding): number {
  return (a.sequence ?? -1) - (b.sequence ?? -1);
}

function checkpointOf({ checkpoint, signedBy, keys, note }: SignedCheckpoint) {
  const { origin, size, root } = checkpoint;
  return { origin, size, root: formatBase64(root), signedBy, keysFrom: keys.source, note };
}

function firstDamageOf({ findings, differs, eventIdAt = () => null }: Outcome): FirstDamage | null {
  const position = findings.position();
  // A range that ends before the first exact sequence contains earlier damage.
  if (differs && (position === null || position.sequence > differs.to)) {
    return positionOf(differs, null, eventIdAt);
  }
  if (position === null) return null;
  return positionOf(
    { from: position.sequence, to: position.sequence },
    position.eventId,
    eventIdAt,
  );
}

function positionOf(
  { from, to }: Span,
  shown: string | null,
  eventIdAt: (sequence: number) => string | null,
): FirstDamage {
  const logged = from === to ? eventIdAt(from) : null;
  const eventId = shown ?? logged;
  const uuid = eventId === null ? null : uuidFromEventId(eventId);
  const timestamp = uuid && formatAnyTimestamp(uuidTimeMs(uuid));
  const loggedEventId = logged === eventId ? null : logged;
  return { sequence: from, lastSequence: to, eventId, timestamp, loggedEventId };
}

export function eventIdAt(file: EntryFile, sequence: number): string | null {
  return sequence < file.size ? eventIdFromUuid(uuidFromBytes(file.at(sequence), 12)) : null;
}
