import {
  type BodyCounts,
  type Checkpoint,
  counted,
  type Finding,
  type Findings,
  formatAnyTimestamp,
  formatBase64,
  sizedCheckpoint,
  uuidFromEventId,
  uuidTimeMs,
} from '@indelible/protocol';
import { type EntryFile, Reading } from './entry-file.ts';
import type { Span } from './log-entries.ts';
import type { Progress } from './log-source.ts';
import { type LogVerdictInput, logVerdict } from './log-verdict.ts';
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
  what: 'log' | 'bundle' | 'archive' | 'export' | 'receipt' | 'capsule';
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
  findings: { count: number; byCode: Record<string, number>; kept: readonly Finding[] };
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
}

export interface Outcome
  extends Partial<Pick<LogVerdictInput, 'latestCutoffMs' | 'plan' | 'earlierSizes'>> {
  signed: SignedCheckpoint | null;
  seen?: { checkpoint: Checkpoint; seenAt: string } | null;
  checked?: Checked;
  /** Where entries start to differ from the signed ones, if nothing more precise is known. */
  differs?: Span | null;
  /** Additional conclusions, besides those of the passes. */
  unproven?: readonly string[];
  follows?: readonly string[];
  doesNotFollow?: readonly string[];
}

/** Runs one verification, and reports what came of it. */
export async function verified(
  what: Report['what'],
  subject: string,
  progress: Progress | undefined,
  run: (reading: Reading) => Promise<Outcome>,
): Promise<Report> {
  const startedAt = performance.now();
  const reading = new Reading(progress);
  try {
    const report = reportOf(reading, await run(reading));
    return { what, subject, ...report, seconds: (performance.now() - startedAt) / 1_000 };
  } finally {
    reading.close();
  }
}

function reportOf({ findings, file }: Reading, outcome: Outcome) {
  const { signed, checked = {}, latestCutoffMs = null, seen } = outcome;
  const isDamaged = findings.count() > 0;
  const { summary, ...verdict } = verdictOf(outcome, findings);
  const unproven = [...verdict.unproven, ...(outcome.unproven ?? [])];
  const result: Report['result'] = isDamaged
    ? 'damaged'
    : unproven.length > 0
      ? 'unproven'
      : 'intact';
  return {
    result,
    summary,
    unproven,
    checked,
    checkpoint: signed && checkpointOf(signed),
    seenBefore: seen ? { size: seen.checkpoint.size, seenAt: seen.seenAt } : null,
    cutoff: latestCutoffMs === null ? null : formatAnyTimestamp(latestCutoffMs),
    follows: isDamaged ? [] : [...verdict.follows, ...(outcome.follows ?? [])],
    doesNotFollow: [...verdict.doesNotFollow, ...(outcome.doesNotFollow ?? [])],
    firstDamage: firstDamageOf(findings, outcome.differs, file),
    findings: {
      count: findings.count(),
      byCode: findings.countByCode(),
      kept: [...findings.kept()].sort(bySequence),
    },
  };
}

function firstDamageOf(
  findings: Findings,
  differs: Span | null | undefined,
  file: EntryFile,
): FirstDamage | null {
  const first = findings.first();
  // A range that ends before the first exact sequence contains earlier damage.
  if (differs && (first === null || first.sequence > differs.to)) {
    return positionOf(differs, null, file);
  }
  const { sequence = 0, eventId = null } = first ?? {};
  return first && positionOf({ from: sequence, to: sequence }, eventId, file);
}

/** The conclusions of the passes; none if they were not run. */
function verdictOf({ signed, checked = {}, ...outcome }: Outcome, findings: Findings) {
  const none = { unproven: [], follows: [], doesNotFollow: [] };
  if (signed === null) {
    return { summary: 'Nothing can be verified, for the reason below.', ...none };
  }
  const { checkpoint } = signed;
  const summary = `Against ${sizedCheckpoint(checkpoint)}: ${resultOf(findings)}.`;
  if (checked.entries === undefined) return { summary, ...none };
  const { latestCutoffMs = null, plan = null, earlierSizes = [] } = outcome;
  const counts = checked.bodies ?? null;
  const input = { checkpoint, findings, counts, latestCutoffMs, plan, earlierSizes };
  return { summary, ...logVerdict(input) };
}

function resultOf(findings: Findings): string {
  const count = findings.count();
  if (count === 0) return 'no damage in what was checked';
  if (isOnlyAnother({ count, byCode: findings.countByCode() })) {
    return 'another log than the one verified before on this machine';
  }
  return counted(count, 'finding');
}

/** The log agrees with itself: no entry of it is damaged, but it is not the expected log. */
export function isOnlyAnother({ count, byCode }: Pick<Report['findings'], 'count' | 'byCode'>) {
  return count > 0 && byCode.other_log === count;
}

/** Findings of the whole log come first. */
function bySequence(a: Finding, b: Finding): number {
  return (a.sequence ?? -1) - (b.sequence ?? -1);
}

function checkpointOf({ checkpoint, signedBy, keys, note }: SignedCheckpoint) {
  const { origin, size, root } = checkpoint;
  return { origin, size, root: formatBase64(root), signedBy, keysFrom: keys.source, note };
}

function positionOf({ from, to }: Span, shown: string | null, file: EntryFile): FirstDamage {
  const logged = from === to ? file.eventIdAt(from) : null;
  const eventId = shown ?? logged;
  const uuid = eventId === null ? null : uuidFromEventId(eventId);
  const timestamp = uuid && formatAnyTimestamp(uuidTimeMs(uuid));
  const loggedEventId = logged === eventId ? null : logged;
  return { sequence: from, lastSequence: to, eventId, timestamp, loggedEventId };
}
