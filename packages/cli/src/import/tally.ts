/** The progress of an import. `lines` counts non-empty lines. */
export interface Tally {
  lines: number;
  lastLine: number;
  created: number;
  duplicates: number;
  rejected: number;
  rejectedByCode: Map<string, number>;
  warnings: Map<string, number>;
  tenantsCreated: number;
  conflicts: number;
  /** The first 20; the file contains all of them. */
  firstConflicts: Conflict[];
}

/** A source id with two different events. */
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
