/** The possible problems of a log, and of what shows it. Codes are stable. */
export type FindingCode =
  // An entry is of no known version, or its id is not an event id.
  | 'malformed_entry'
  // An entry was received before its predecessor.
  | 'receipt_goes_back'
  // The number of entries differs from the checkpoint's size.
  | 'missing_entries'
  | 'surplus_entries'
  // The entries are not those that the checkpoint, or an earlier one, covers.
  | 'root_mismatch'
  | 'earlier_root_mismatch'
  // A hash tile differs from the one that the entries give, or is not available.
  | 'tile_mismatch'
  | 'missing_tile'
  | 'malformed_tile'
  // A body line cannot be read, or contains a member that is not proven.
  | 'malformed_body'
  // A body has a sequence beyond the checkpoint.
  | 'beyond_checkpoint'
  // The log entry at the body's sequence is of another event.
  | 'other_event'
  // A body does not match the commitment of its entry, or its version.
  | 'content_mismatch'
  // A field of a body does not follow from the others.
  | 'derived_field_mismatch'
  // A body names another tenant.
  | 'other_tenant'
  // A second body of one entry.
  | 'repeated_body'
  // An entry has no body, and retention does not explain it.
  | 'missing_body'
  // Bodies were removed, or are stated as removed, that the plan still keeps.
  | 'retention_exceeded'
  // The stated plan differs from the plan in the log's own records.
  | 'plan_mismatch'
  // There is no trusted checkpoint.
  | 'malformed_checkpoint'
  | 'unknown_key'
  | 'bad_signature'
  // The checkpoint covers events recorded after its key was retired.
  | 'retired_key'
  // The service has no log, but this machine has seen one.
  | 'missing_log'
  // The checkpoint contradicts an earlier one.
  | 'other_log'
  | 'rolled_back'
  | 'forked'
  | 'inconsistent'
  // The service says that its log is shorter than its checkpoint.
  | 'head_behind'
  // The service reports that its database contradicts what it published.
  | 'service_halted'
  // A bundle's file differs from what was written.
  | 'file_mismatch'
  | 'missing_file'
  | 'malformed_file'
  // Segments are withheld, and the bundle does not say so.
  | 'undeclared_withholding'
  // The log does not contain what a receipt states.
  | 'receipt_mismatch'
  | 'receipt_unproven'
  // The log records no export of a file with this SHA-256.
  | 'export_unknown';

export interface Finding {
  code: FindingCode;
  /** The sequence in the log; null if the finding has none. */
  sequence: number | null;
  /** `evt_audit_…`, if known. */
  eventId: string | null;
  message: string;
}

/** Where damage is, as far as it is known. */
type Place = Partial<Pick<Finding, 'sequence' | 'eventId'>>;

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
    add(code: FindingCode, message: string, { sequence = null, eventId = null }: Place = {}) {
      count += 1;
      counts[code] = (counts[code] ?? 0) + 1;
      if (kept.length < findingsKeptMax) kept.push({ code, sequence, eventId, message });
      if (sequence === null) return;
      if (first === null || sequence < first.sequence) first = { sequence, eventId };
      // Any of several findings for one sequence may name the event.
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

/** Findings that apply `change` to each added one. */
export function changing(findings: Findings, change: (finding: Finding) => Finding): Findings {
  const add: Findings['add'] = (code, message, { sequence = null, eventId = null } = {}) => {
    const changed = change({ code, message, sequence, eventId });
    findings.add(changed.code, changed.message, changed);
  };
  return { ...findings, add };
}
