import {
  type BodyCounts,
  type ErasureRecord,
  type Findings,
  type HiddenSegments,
  type WithholdableSegment,
  withholdableSegments,
} from '@indelible/protocol';
import { addDamage } from './damage.ts';

/** What explains that a segment is not there but for its hash. */
export interface Explained {
  /** Segments that are said to be kept back in every event. */
  withheld: readonly WithholdableSegment[];
  /** As the log itself records them. */
  erasures: readonly ErasureRecord[];
}

/**
 * What is kept back must be said to be, or have been erased on record of the log: else anybody
 * could hide what was said. `which` of the log's events it is about, for the sentence.
 */
export function requireExplained(
  hidden: HiddenSegments,
  { withheld, erasures }: Explained,
  findings: Findings,
  which = 'events',
): void {
  for (const name of withholdableSegments) {
    const count = withheld.includes(name) ? 0 : hidden.unexplained(name, erasures);
    if (count === 0) continue;
    const message =
      `${count} ${which} lack their ${name}, and neither the bundle nor a record of the ` +
      'log explains it.';
    addDamage(findings, 'undeclared_withholding', message);
  }
}

/** The same counts, in which what is not stated to be withheld was erased. */
export function countErased(
  counts: BodyCounts,
  hidden: HiddenSegments,
  { withheld, erasures }: Explained,
): BodyCounts {
  for (const name of withholdableSegments) {
    const erased = withheld.includes(name) ? null : hidden.erased(name, erasures);
    if (erased === null || erased.events === 0) continue;
    counts.withheld[name] -= erased.events;
    counts.erased = { ...counts.erased, [name]: erased };
  }
  return counts;
}
