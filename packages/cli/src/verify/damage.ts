import type { Finding, FindingCode, Findings } from '@indelible/protocol';

/** Problems besides those of `FindingCode`. Codes are stable. */
export type DamageCode =
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
  // A tile of the checkpoint's size is not available.
  | 'missing_tile'
  | 'malformed_tile'
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
  // A CSV differs from the log.
  | 'csv_header'
  | 'csv_row_altered'
  | 'csv_row_unknown'
  | 'csv_row_repeated'
  | 'csv_row_unwanted'
  | 'csv_row_order'
  | 'csv_row_missing'
  | 'csv_row_malformed';

/** A finding of any kind in a report. */
export interface ReportFinding extends Omit<Finding, 'code'> {
  code: FindingCode | DamageCode;
}

/** Adds a finding to those of the passes, so that all are counted and sorted together. */
export function addDamage(
  findings: Findings,
  code: DamageCode,
  message: string,
  position: { sequence?: number | null; eventId?: string | null } = {},
): void {
  const { sequence = null, eventId = null } = position;
  // Findings accept any code; only their type is limited to the codes of the passes.
  findings.add({ code: code as FindingCode, sequence, eventId, message });
}

/** The same findings; `change` is applied to each added one. */
export function changing(findings: Findings, change: (finding: Finding) => Finding): Findings {
  return { ...findings, add: (finding) => findings.add(change(finding)) };
}
