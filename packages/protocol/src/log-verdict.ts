import type { BodyCounts } from './body-pass.ts';
import { type Checkpoint, sizedCheckpoint } from './checkpoint.ts';
import { withholdableSegments } from './event-body.ts';
import type { Findings } from './findings.ts';
import { formatTimestamp } from './timestamp.ts';

/** What came of verifying a log. `intact` is said of what was checked, and `follows` says what. */
export interface LogVerdict {
  code: 'intact' | 'damaged';
  summary: string;
  /** What has been shown, a sentence each; empty when damaged. */
  follows: string[];
  /** What has not been shown, a sentence each. */
  doesNotFollow: string[];
}

export interface LogVerdictInput {
  checkpoint: Checkpoint;
  findings: Findings;
  /** Of the body pass; null when only entries were checked. */
  counts: BodyCounts | null;
  /** `latestCutoffMs` of the cover. */
  latestCutoffMs: number | null;
  /** Sizes of the earlier checkpoints held against the entries. */
  earlierSizes: readonly number[];
}

/** Puts the outcome of both passes into words; never more than was checked. */
export function logVerdict(input: LogVerdictInput): LogVerdict {
  const { findings } = input;
  const against = `Against ${sizedCheckpoint(input.checkpoint)}`;
  const doesNotFollow = limitsOf(input);
  if (findings.count() === 0) {
    const summary = `${against}: no damage in what was checked.`;
    return { code: 'intact', summary, follows: shownBy(input), doesNotFollow };
  }
  const first = findings.first();
  const where =
    first === null
      ? 'Where the damage begins cannot be told.'
      : `The first damaged entry found is ${first.sequence}${first.eventId ? ` (${first.eventId})` : ''}.`;
  const summary = `${against}: ${findings.count()} finding(s). ${where}`;
  return { code: 'damaged', summary, follows: [], doesNotFollow };
}

function shownBy({ checkpoint, counts, latestCutoffMs, earlierSizes }: LogVerdictInput): string[] {
  const shown = [
    `The ${checkpoint.size} entries are those the checkpoint was signed over, in their order: none ` +
      'was changed, removed, inserted or moved since.',
    ...earlierSizes.map(
      (size) =>
        `The first ${size} of them are those that the checkpoint seen at ${size} stood for.`,
    ),
  ];
  if (counts === null) return shown;
  shown.push(
    `${counts.intact} events are, as far as they are shown, what their entries commit to.`,
  );
  if (counts.expired > 0 && latestCutoffMs !== null) {
    shown.push(
      `${counts.expired} entries have no event any more: each is older than a cutoff that the ` +
        `service states, the latest being ${formatTimestamp(latestCutoffMs)}.`,
    );
  }
  if (counts.expired + counts.outside + counts.unjudged === 0)
    shown.push('Every entry has its event.');
  return shown;
}

function limitsOf({ counts, earlierSizes }: LogVerdictInput): string[] {
  const limits = [
    'That the events tell the truth, or that everything that happened was recorded.',
    'That others are shown the same log: compare this checkpoint with theirs.',
  ];
  if (earlierSizes.length === 0) {
    limits.push('That the log was not rewritten before this checkpoint: none was seen earlier.');
  }
  if (counts === null) return [...limits, 'What the events say: only the entries were checked.'];
  for (const name of withholdableSegments) {
    const withheld = counts.withheld[name];
    if (withheld > 0) limits.push(`What ${name} said in ${withheld} events: it is withheld.`);
  }
  if (counts.expired > 0) limits.push(`What the ${counts.expired} expired events said.`);
  if (counts.outside > 0) limits.push(`What ${counts.outside} events outside the range say.`);
  if (counts.unjudged > 0) {
    limits.push(
      `That no event of the filter is missing: ${counts.unjudged} entries of the range have none ` +
        'here, and an entry does not tell whether its event fits the filter.',
    );
  }
  if (counts.newer > 0) limits.push(`Anything about ${counts.newer} events recorded since.`);
  return limits;
}
