/**
 * The possible problems of a log. Codes are stable:
 * - `malformed_entry`: an entry is of no known version, or its id is not an event id
 * - `receipt_goes_back`: an entry was received before its predecessor
 * - `missing_entries`, `surplus_entries`: the number of entries differs from the checkpoint's size
 * - `root_mismatch`: the entries are not those that the checkpoint covers
 * - `earlier_root_mismatch`: the entries are not those that an earlier checkpoint covers
 * - `tile_mismatch`: a hash tile differs from the one that the entries give
 * - `malformed_body`: a body line cannot be read, or contains a member that is not proven
 * - `beyond_checkpoint`: a body has a sequence beyond the checkpoint
 * - `other_event`: the log entry at the body's sequence is of another event
 * - `content_mismatch`: a body does not match the commitment of its entry, or its version
 * - `derived_field_mismatch`: a field of a body does not follow from the others
 * - `other_tenant`: a body names another tenant
 * - `repeated_body`: a second body of one entry
 * - `missing_body`: an entry has no body, and retention does not explain it
 * - `retention_exceeded`: bodies were removed, or are stated as removed, that the plan still keeps
 * - `plan_mismatch`: the stated plan differs from the plan in the log's own records
 */
export type FindingCode =
  | 'malformed_entry'
  | 'receipt_goes_back'
  | 'missing_entries'
  | 'surplus_entries'
  | 'root_mismatch'
  | 'earlier_root_mismatch'
  | 'tile_mismatch'
  | 'malformed_body'
  | 'beyond_checkpoint'
  | 'other_event'
  | 'content_mismatch'
  | 'derived_field_mismatch'
  | 'other_tenant'
  | 'repeated_body'
  | 'missing_body'
  | 'retention_exceeded'
  | 'plan_mismatch';

export interface Finding {
  code: FindingCode;
  /** The sequence in the log; null if the finding has none. */
  sequence: number | null;
  /** `evt_audit_…`, if known. */
  eventId: string | null;
  message: string;
}

/** The most findings that are stored; all are counted. */
const findingsKeptMax = 100;

/** The findings so far, shared by all passes over a log. */
export type Findings = ReturnType<typeof createFindings>;

export function createFindings() {
  const counts: Partial<Record<FindingCode, number>> = {};
  const kept: Finding[] = [];
  let first: { sequence: number; eventId: string | null } | null = null;
  let count = 0;
  return {
    add(finding: Finding): void {
      count += 1;
      counts[finding.code] = (counts[finding.code] ?? 0) + 1;
      if (kept.length < findingsKeptMax) kept.push(finding);
      const { sequence, eventId } = finding;
      if (sequence === null) return;
      if (first === null || sequence < first.sequence) first = { sequence, eventId };
      // Of several findings for one sequence, any may name the event.
      else if (sequence === first.sequence) first.eventId ??= eventId;
    },
    count: () => count,
    countByCode: () => ({ ...counts }),
    /** The first 100, in the order in which they were found. */
    kept: (): readonly Finding[] => kept,
    /** The smallest sequence of all findings, and the event named for it; null without one. */
    first: () => first,
  };
}
