import { withholdableSegments } from '../event/event-body.ts';
import { formatTimestamp } from '../event/timestamp.ts';
import { type Checkpoint, sizedCheckpoint } from '../log/checkpoint.ts';
import type { BodyCounts } from './body-pass.ts';
import type { Findings } from './findings.ts';
import type { ProvenCover } from './proven-cover.ts';

/**
 * What came of verifying a log. `intact` is said of what was checked, and `follows` says what;
 * `unproven`: nothing is damaged, but something that is absent is explained by somebody's word
 * alone.
 */
export interface LogVerdict {
  code: 'intact' | 'unproven' | 'damaged';
  summary: string;
  /** What keeps an undamaged log from being intact, a sentence each. */
  unproven: string[];
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
  /** Of `provenCover`. */
  plan?: ProvenCover['plan'];
  /** Sizes of the earlier checkpoints held against the entries. */
  earlierSizes: readonly number[];
}

/** Puts the outcome of both passes into words; never more than was checked. */
export function logVerdict(input: LogVerdictInput): LogVerdict {
  const { findings } = input;
  const against = `Against ${sizedCheckpoint(input.checkpoint)}`;
  const doesNotFollow = limitsOf(input);
  const unproven = unprovenIn(input);
  if (findings.count() === 0) {
    const code = unproven.length === 0 ? 'intact' : 'unproven';
    const summary = `${against}: no damage in what was checked.`;
    return { code, summary, unproven, follows: shownBy(input), doesNotFollow };
  }
  const first = findings.first();
  const where =
    first === null
      ? 'Where the damage begins cannot be told.'
      : `The first damaged entry found is ${first.sequence}${first.eventId ? ` (${first.eventId})` : ''}.`;
  const summary = `${against}: ${findings.count()} finding(s). ${where}`;
  return { code: 'damaged', summary, unproven, follows: [], doesNotFollow };
}

function unprovenIn({ counts, latestCutoffMs }: LogVerdictInput): string[] {
  if (counts === null || counts.stated === 0 || latestCutoffMs === null) return [];
  return [
    `${counts.stated} events are absent, explained only by the statement that the plan shows nothing ` +
      `from before ${formatTimestamp(latestCutoffMs)}: the log's own records do not tell which plan ` +
      'is in force.',
  ];
}

function shownBy(input: LogVerdictInput): string[] {
  const { checkpoint, counts, latestCutoffMs, earlierSizes, plan = null } = input;
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
    const why =
      plan?.from === 'caller'
        ? `than what the plan ${plan.name}, which you have named, keeps`
        : 'than what the plan kept, by the records of the log itself';
    shown.push(
      `${counts.expired} entries have no event any more: each is older ${why}; the latest cutoff is ` +
        `${formatTimestamp(latestCutoffMs)}.`,
    );
  }
  if (counts.expired + counts.stated + counts.outside + counts.unjudged === 0)
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
    const { events: erased = 0 } = counts.erased?.[name] ?? {};
    if (erased > 0) limits.push(`What ${name} said in ${erased} events: it is erased.`);
  }
  if (counts.expired > 0) limits.push(`What the ${counts.expired} expired events said.`);
  if (counts.stated > 0) limits.push(`What the ${counts.stated} absent events said.`);
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
