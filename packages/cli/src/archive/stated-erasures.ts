import {
  type ErasureRecord,
  type Findings,
  type HiddenSegments,
  type ServiceRecords,
  withholdableSegments,
} from '@indelible/protocol';
import { requireExplained } from '../verify/kept-back.ts';
import type { NamedPart } from './parts.ts';

/** The erasures that manifests state, if the archive ends before the log's own record of them. */
export function statedErasures(parts: readonly NamedPart[], size: number): ErasureRecord[] {
  return parts
    .flatMap(({ manifest }) => manifest.erasures ?? [])
    .filter((stated) => stated.size >= size)
    .map(({ segment, actors, events, size }) => ({
      ...{ sequence: size, segment, size },
      ...{ actors: new Set(actors), events: new Set(events) },
    }));
}

/**
 * Compares erased values with the log's records. An erasure that only a manifest explains is
 * unproven until the archive contains the record (a sentence each). An unexplained one is damage.
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
