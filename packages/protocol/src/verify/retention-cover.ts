/**
 * The record that bodies were removed: among the first `size` entries, those that happened and were
 * received before `cutoffMs`. Entries are never removed.
 */
export interface RetentionRecord {
  cutoffMs: number;
  size: number;
  /** Covers events that happened before, whenever received: offboardings, former releases. */
  byTimestamp?: boolean;
}

/**
 * `expired`: retention explains it. `stated`: only an unproven statement does. `outside`: not
 * requested. `unjudged`: possibly not requested.
 */
export type Absence = 'expired' | 'stated' | 'outside' | 'unjudged' | 'missing';

export interface BodyCover {
  /** Why the entry at `sequence`, of this event and receipt time, has no body. */
  absenceOf(sequence: number, timeMs: number, receivedMs: number): Absence;
  /** The latest time before which bodies may be missing; null if none may. */
  latestCutoffMs: number | null;
}

export interface CoverOptions {
  records?: readonly RetentionRecord[];
  /** Cutoff of the plan in force; older bodies may be hidden, at any sequence. */
  planCutoffMs?: number | null;
  /** A stated cutoff that nothing proves. */
  statedCutoffMs?: number | null;
}

/** Decides which entries may lack a body, for the end of a `BodyPass`. */
export function createBodyCover(options: CoverOptions): BodyCover {
  const { planCutoffMs = null, statedCutoffMs = null } = options;
  const planRecord: RetentionRecord[] =
    planCutoffMs === null ? [] : [{ cutoffMs: planCutoffMs, size: 2 ** 53 }];
  const all = [...(options.records ?? []), ...planRecord];
  const records = usefulRecords(all.filter(({ byTimestamp }) => !byTimestamp));
  const timed = usefulRecords(all.filter(({ byTimestamp }) => byTimestamp));
  const first = latest(records[0]?.cutoffMs ?? null, timed[0]?.cutoffMs ?? null);
  return {
    latestCutoffMs: latest(first, statedCutoffMs),
    absenceOf(sequence, timeMs, receivedMs) {
      const lastMs = Math.max(timeMs, receivedMs);
      if (covers(records, sequence, lastMs) || covers(timed, sequence, timeMs)) return 'expired';
      return statedCutoffMs !== null && lastMs < statedCutoffMs ? 'stated' : 'missing';
    },
  };
}

/** Whether one of these useful records covers the entry. */
function covers(records: readonly RetentionRecord[], sequence: number, timeMs: number): boolean {
  for (const { cutoffMs, size } of records) {
    if (timeMs >= cutoffMs) return false; // no later record has a later cutoff
    if (sequence < size) return true;
  }
  return false;
}

/** The later of two moments, of which one may be missing. */
export function latest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** By descending cutoff, without records that an earlier one covers. */
function usefulRecords(records: readonly RetentionRecord[]): RetentionRecord[] {
  const sorted = [...records].sort((a, b) => b.cutoffMs - a.cutoffMs || b.size - a.size);
  let sizeMax = 0;
  return sorted.filter(({ size }) => {
    if (size <= sizeMax) return false;
    sizeMax = size;
    return true;
  });
}
