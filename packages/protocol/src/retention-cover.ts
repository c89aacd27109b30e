import { isSequence } from './committed-event.ts';
import { FormatError } from './format-error.ts';
import { parseTimestamp } from './timestamp.ts';

/**
 * The service's statement that bodies are gone: those of the first `size` entries whose id's time is
 * before `cutoffMs`. An entry itself never goes.
 */
export interface RetentionRecord {
  cutoffMs: number;
  size: number;
}

const recordsMax = 100_000;

/** Reads `[{"cutoff":"…Z","size":n},…]`; throws FormatError for anything else. */
export function retentionRecordsOf(json: unknown): RetentionRecord[] {
  if (!Array.isArray(json) || json.length > recordsMax) {
    throw new FormatError('retention records are a list');
  }
  return json.map((record: unknown) => {
    const { cutoff, size, ...others } = (record ?? {}) as Record<string, unknown>;
    const cutoffMs = typeof cutoff === 'string' ? parseTimestamp(cutoff) : null;
    if (cutoffMs === null || !isSequence(size) || Object.keys(others).length > 0) {
      throw new FormatError('a retention record is {cutoff, size}');
    }
    return { cutoffMs, size };
  });
}

/** `expired`: stated to be gone. `outside`: not asked for. `unjudged`: perhaps not asked for. */
export type Absence = 'expired' | 'outside' | 'unjudged' | 'missing';

export interface BodyCover {
  /** Why the entry at `sequence`, of an event with this time, has no body. */
  absenceOf(sequence: number, timeMs: number): Absence;
  /** The latest moment before which bodies may be gone; null when all are owed. */
  latestCutoffMs: number | null;
}

export interface CoverOptions {
  records?: readonly RetentionRecord[];
  /** Cutoff of the tenant's plan as stated; older bodies may be hidden, at any size. */
  planCutoffMs?: number | null;
  /** The bodies asked for: `[fromMs, toMs)` by the time within the id. */
  fromMs?: number | null;
  toMs?: number | null;
  /** Whether bodies were chosen by more than time, which entries cannot tell. */
  isFiltered?: boolean;
}

/** Which entries may lack a body, for the end of a `BodyPass`. */
export function createBodyCover(options: CoverOptions): BodyCover {
  const { planCutoffMs = null, fromMs = null, toMs = null, isFiltered = false } = options;
  const planRecord = planCutoffMs === null ? [] : [{ cutoffMs: planCutoffMs, size: 2 ** 53 }];
  const records = usefulRecords([...(options.records ?? []), ...planRecord]);
  return {
    latestCutoffMs: records[0]?.cutoffMs ?? null,
    absenceOf(sequence, timeMs) {
      if (fromMs !== null && timeMs < fromMs) return 'outside';
      if (toMs !== null && timeMs >= toMs) return 'outside';
      for (const { cutoffMs, size } of records) {
        if (timeMs >= cutoffMs) break; // no later record has a later cutoff
        if (sequence < size) return 'expired';
      }
      return isFiltered ? 'unjudged' : 'missing';
    },
  };
}

/** By falling cutoff, without those that cover nothing more than one before them. */
function usefulRecords(records: readonly RetentionRecord[]): RetentionRecord[] {
  const sorted = [...records].sort((a, b) => b.cutoffMs - a.cutoffMs || b.size - a.size);
  let sizeMax = 0;
  return sorted.filter(({ size }) => {
    if (size <= sizeMax) return false;
    sizeMax = size;
    return true;
  });
}
