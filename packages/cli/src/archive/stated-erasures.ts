import {
  type ErasureRecord,
  type Findings,
  type HiddenSegments,
  type ServiceRecords,
  withholdableSegments,
} from '@indelible/protocol';
import { requireExplained } from '../verify/kept-back.ts';
import type { NamedSegment } from './segments.ts';

/** What manifests say was erased, where the archive ends before the log's own record of it. */
export function statedErasures(segments: readonly NamedSegment[], size: number): ErasureRecord[] {
  return segments
    .flatMap(({ manifest }) => manifest.erasures ?? [])
    .filter((stated) => stated.size >= size)
    .map(({ segment, actors, events, size }) => ({
      ...{ sequence: size, segment, size },
      ...{ actors: new Set(actors), events: new Set(events) },
    }));
}

/**
 * Holds what is erased against the log's records. What a manifest alone explains is not proven
 * until the archive reaches the record: a sentence each. What nothing explains is damage.
 */
export function judgeErased(
  hidden: HiddenSegments,
  { erasures }: ServiceRecords,
  stated: readonly ErasureRecord[],
  findings: Findings,
): string[] {
  const all = [...erasures, ...stated];
  requireExplained(hidden, { withheld: [], erasures: all }, findings);
  return withholdableSegments.flatMap((name) => {
    const count = hidden.unexplained(name, erasures) - hidden.unexplained(name, all);
    if (count === 0) return [];
    return [
      `${count} event(s) lack their ${name}: the archive states the erasure, but ends ` +
        "before the log's record of it. The next archive run adds the record.",
    ];
  });
}
