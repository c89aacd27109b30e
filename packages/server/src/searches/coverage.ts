import type { Gap, Source } from '../sources/index.ts';

/** A source that numbered its events in a time range, and its gaps there. */
export type Covered = Pick<Source, 'id' | 'firstReceivedMs' | 'lastReceivedMs'> & {
  gaps: Gap[];
  /** Further gaps of the range may have been dropped for the limit. */
  gapsDropped: boolean;
};

/**
 * The sources from which events were received in the range, before its end and after its start. A
 * gap concerns the range if one of the two receipts around it, or the time between, is inside.
 */
export function coverageOf(
  sources: readonly Source[],
  { from, to }: { from: number; to: number },
): Covered[] {
  return sources
    .filter(({ firstReceivedMs, lastReceivedMs }) => firstReceivedMs < to && lastReceivedMs >= from)
    .map(({ id, firstReceivedMs, lastReceivedMs, gapsDroppedMs, gaps }) => ({
      ...{ id, firstReceivedMs, lastReceivedMs },
      gaps: gaps.filter(({ afterMs, noticedMs }) => afterMs < to && noticedMs >= from),
      gapsDropped: gapsDroppedMs !== null && gapsDroppedMs >= from,
    }));
}
