import {
  type BodyCounts,
  type Checkpoint,
  counted,
  type Findings,
  formatTimestamp,
  type ProvenCover,
  withholdableSegments,
} from '@indelible/protocol';

export interface LogVerdictInput {
  checkpoint: Checkpoint;
  findings: Findings;
  /** The counts of the body pass; null if only entries were checked. */
  counts: BodyCounts | null;
  /** `latestCutoffMs` of the cover. */
  latestCutoffMs: number | null;
  /** The plan that `provenCover` found. */
  plan?: ProvenCover['plan'];
  /** Sizes of the earlier checkpoints that were compared. */
  earlierSizes: readonly number[];
}

/**
 * What both passes show, a sentence each; claims only what was checked. `unproven`: why an
 * undamaged log is not intact. Nothing follows from a damaged one.
 */
export function logVerdict(input: LogVerdictInput) {
  const isDamaged = input.findings.count() > 0;
  const follows = isDamaged ? [] : shownBy(input);
  return { unproven: unprovenIn(input), follows, doesNotFollow: limitsOf(input) };
}

function unprovenIn({ counts, latestCutoffMs }: LogVerdictInput): string[] {
  if (counts === null || counts.stated === 0 || latestCutoffMs === null) return [];
  return [
    `${counted(counts.stated, 'event is', 'events are')} absent. The only explanation is the stated cutoff ` +
      `${formatTimestamp(latestCutoffMs)}: the log itself has no record of the plan.`,
  ];
}

function shownBy(input: LogVerdictInput): string[] {
  const { checkpoint, counts, latestCutoffMs, earlierSizes, plan = null } = input;
  const shown = [
    `The ${counted(checkpoint.size, 'entry matches', 'entries match')} the signed checkpoint, in order: none was ` +
      'changed, removed, inserted or moved.',
    ...earlierSizes.map(
      (size) =>
        `The first ${size} of them match the checkpoint of size ${size} that was verified before.`,
    ),
  ];
  if (counts === null) return shown;
  shown.push(
    `${counted(counts.intact, 'event matches the commitment of its entry', 'events match the commitments of their entries')}, in all parts that are shown.`,
  );
  if (counts.expired > 0 && latestCutoffMs !== null) {
    const why =
      plan?.from === 'caller'
        ? `than the plan ${plan.name}, which you named, keeps`
        : 'than the plan kept, according to the records of the log';
    shown.push(
      `${counted(counts.expired, 'entry has', 'entries have')} no event any more: each is older ${why}; the latest cutoff is ` +
        `${formatTimestamp(latestCutoffMs)}.`,
    );
  }
  if (counts.expired + counts.stated + counts.unjudged === 0)
    shown.push('Every entry has its event.');
  return shown;
}

function limitsOf({ counts, earlierSizes }: LogVerdictInput): string[] {
  const limits = [
    'That the events tell the truth, or that everything that happened was recorded.',
    'That the service shows the same log to others: compare this checkpoint with theirs.',
  ];
  if (earlierSizes.length === 0) {
    limits.push(
      'That the log was not rewritten before this checkpoint: this machine has verified no ' +
        'earlier checkpoint of this log.',
    );
  }
  if (counts === null) return [...limits, 'What the events say: only the entries were checked.'];
  for (const name of withholdableSegments) {
    const withheld = counts.withheld[name];
    if (withheld > 0)
      limits.push(`What ${name} said in ${counted(withheld, 'event')}: it is withheld.`);
    const { events: erased = 0 } = counts.erased?.[name] ?? {};
    if (erased > 0) limits.push(`What ${name} said in ${counted(erased, 'event')}: it is erased.`);
  }
  if (counts.expired > 0) limits.push(`What the ${counted(counts.expired, 'expired event')} said.`);
  if (counts.stated > 0) limits.push(`What the ${counted(counts.stated, 'absent event')} said.`);
  if (counts.unjudged > 0) {
    limits.push(
      `That no matching event is missing: ${counted(counts.unjudged, 'entry of the range has', 'entries of the range have')} ` +
        'no event here, and an entry does not show whether its event matches the filter.',
    );
  }
  if (counts.newer > 0)
    limits.push(`Anything about ${counted(counts.newer, 'event')} recorded since.`);
  return limits;
}
