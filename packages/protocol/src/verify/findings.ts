/**
 * What can be wrong with a log. Stable codes:
 * - `malformed_entry`: an entry is not of version 1, or its id is no event's
 * - `receipt_goes_back`: an entry was received before the one that it follows
 * - `missing_entries`, `surplus_entries`: not as many as the checkpoint says
 * - `root_mismatch`: the entries are not those that the checkpoint was signed over
 * - `earlier_root_mismatch`: they are not those an earlier checkpoint was signed over
 * - `tile_mismatch`: a hash tile is not the one that the entries give
 * - `malformed_body`: a body line cannot be read, or shows what nothing proves
 * - `beyond_checkpoint`: a body whose sequence the checkpoint does not reach
 * - `other_event`: the log's entry at the body's sequence is of another event
 * - `content_mismatch`: a body is not what its entry commits to
 * - `derived_field_mismatch`: a field of a body is not what follows from the others
 * - `other_tenant`: a body names another tenant
 * - `repeated_body`: a second body of one entry
 * - `missing_body`: an entry has no body, and no retention explains it
 * - `retention_exceeded`: bodies are said to be gone, or were removed, that the plan still keeps
 * - `plan_mismatch`: another plan is stated than the one that the log's own records say is in force
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
  /** Place in the log; null for what has none. */
  sequence: number | null;
  /** `evt_audit_…`, where one is known. */
  eventId: string | null;
  message: string;
}

/** Findings kept in full; all are counted. */
const findingsKeptMax = 100;

/** What has been found so far; one for all passes over a log. */
export interface Findings {
  add(finding: Finding): void;
  count(): number;
  countByCode(): Partial<Record<FindingCode, number>>;
  /** The first 100, in the order in which they were met. */
  kept(): readonly Finding[];
  /** The one with the smallest sequence, of all; null when none has a sequence. */
  first(): Finding | null;
}

export function createFindings(): Findings {
  const counts: Partial<Record<FindingCode, number>> = {};
  const kept: Finding[] = [];
  let first: Finding | null = null;
  let count = 0;
  return {
    add(finding) {
      count += 1;
      counts[finding.code] = (counts[finding.code] ?? 0) + 1;
      if (kept.length < findingsKeptMax) kept.push(finding);
      const { sequence } = finding;
      if (sequence === null) return;
      if (first === null || first.sequence === null || sequence < first.sequence) first = finding;
    },
    count: () => count,
    countByCode: () => ({ ...counts }),
    kept: () => kept,
    first: () => first,
  };
}
