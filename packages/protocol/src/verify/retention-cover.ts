/**
 * That bodies are gone: those of the first `size` entries whose id's time is before `cutoffMs`. An
 * entry itself never goes.
 */
export interface RetentionRecord {
  cutoffMs: number;
  size: number;
}

/**
 * `expired`: retention explains it. `stated`: only somebody's word does. `outside`: not asked for.
 * `unjudged`: perhaps not asked for.
 */
export type Absence = 'expired' | 'stated' | 'outside' | 'unjudged' | 'missing';

export interface BodyCover {
  /** Why the entry at `sequence`, of an event with this time, has no body. */
  absenceOf(sequence: number, timeMs: number): Absence;
  /** The latest moment before which bodies may be gone; null when all are owed. */
  latestCutoffMs: number | null;
}

export interface CoverOptions {
  records?: readonly RetentionRecord[];
  /** Cutoff of the plan in force; older bodies may be hidden, at any size. */
  planCutoffMs?: number | null;
  /** A cutoff that somebody states, and nothing proves. */
  statedCutoffMs?: number | null;
  /** The bodies asked for: `[fromMs, toMs)` by the time within the id. */
  fromMs?: number | null;
  toMs?: number | null;
  /** Whether bodies were chosen by more than time, which entries cannot tell. */
  isFiltered?: boolean;
}

/** Which entries may lack a body, for the end of a `BodyPass`. */
export function createBodyCover(options: CoverOptions): BodyCover {
  const { planCutoffMs = null, statedCutoffMs = null, fromMs = null, toMs = null } = options;
  const planRecord = planCutoffMs === null ? [] : [{ cutoffMs: planCutoffMs, size: 2 ** 53 }];
  const records = usefulRecords([...(options.records ?? []), ...planRecord]);
  return {
    latestCutoffMs: latest(records[0]?.cutoffMs ?? null, statedCutoffMs),
    absenceOf(sequence, timeMs) {
      if (fromMs !== null && timeMs < fromMs) return 'outside';
      if (toMs !== null && timeMs >= toMs) return 'outside';
      for (const { cutoffMs, size } of records) {
        if (timeMs >= cutoffMs) break; // no later record has a later cutoff
        if (sequence < size) return 'expired';
      }
      if (statedCutoffMs !== null && timeMs < statedCutoffMs) return 'stated';
      return options.isFiltered ? 'unjudged' : 'missing';
    },
  };
}

function latest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
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
