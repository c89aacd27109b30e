/** What an import has done so far. `lines` counts those that hold something. */
export interface Tally {
  lines: number;
  /** Number of the last line that was read. */
  lastLine: number;
  created: number;
  duplicates: number;
  rejected: number;
  rejectedByCode: Map<string, number>;
  warnings: Map<string, number>;
  tenantsCreated: number;
  conflicts: number;
  /** The first 20; all of them are in the file beside the rejected lines. */
  firstConflicts: Conflict[];
}

/** One source id that stands for two different events. */
export interface Conflict {
  sourceId: string;
  tenantId: string;
  firstLine: number;
  line: number;
}

const conflictsShownMax = 20;

export function newTally(): Tally {
  return {
    lines: 0,
    lastLine: 0,
    created: 0,
    duplicates: 0,
    rejected: 0,
    rejectedByCode: new Map(),
    warnings: new Map(),
    tenantsCreated: 0,
    conflicts: 0,
    firstConflicts: [],
  };
}

export function countIn(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export function addConflict(tally: Tally, conflict: Conflict): void {
  tally.conflicts += 1;
  if (tally.firstConflicts.length < conflictsShownMax) tally.firstConflicts.push(conflict);
}
