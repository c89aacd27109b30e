import {
  type BodyCounts,
  type ErasureRecord,
  type Findings,
  type HiddenSegments,
  type WithholdableSegment,
  withholdableSegments,
} from '@indelible/protocol';
import { addDamage } from './damage.ts';

/** The accepted explanations of a withheld segment. */
export interface Explained {
  /** Segments declared as withheld in every event. */
  withheld: readonly WithholdableSegment[];
  /** As the log itself records them. */
  erasures: readonly ErasureRecord[];
}

/**
 * A withheld segment must be declared, or erased according to the log; otherwise withholding could
 * hide content. `which` names the events in the error text.
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

/** The same counts, with undeclared withheld segments counted as erased. */
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
