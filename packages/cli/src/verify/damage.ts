import type { Finding, FindingCode, Findings } from '@indelible/protocol';

/**
 * Problems besides those of `FindingCode`. Codes are stable:
 * - `malformed_checkpoint`, `unknown_key`, `bad_signature`: there is no trusted checkpoint
 * - `retired_key`: it covers events recorded after its key was retired
 * - `missing_log`: the service has no log, but this machine has seen one
 * - `other_log`, `rolled_back`, `forked`, `inconsistent`: it contradicts an earlier checkpoint
 * - `missing_tile`, `malformed_tile`: a tile of the checkpoint's size is not available
 * - `head_behind`: the service says that its log is shorter than its checkpoint
 * - `service_halted`: the service reports that its database contradicts what it published
 * - `file_mismatch`, `missing_file`, `malformed_file`: a bundle's file differs from what was
 *   written
 * - `undeclared_withholding`: segments are withheld, and the bundle does not say so
 * - `receipt_mismatch`, `receipt_unproven`: the log does not contain what a receipt states
 * - `csv_header`, `csv_row_altered`, `csv_row_unknown`, `csv_row_repeated`, `csv_row_unwanted`,
 *   `csv_row_order`, `csv_row_missing`, `csv_row_malformed`: a CSV differs from the log
 */
export type DamageCode =
  | 'malformed_checkpoint'
  | 'unknown_key'
  | 'bad_signature'
  | 'retired_key'
  | 'missing_log'
  | 'other_log'
  | 'rolled_back'
  | 'forked'
  | 'inconsistent'
  | 'missing_tile'
  | 'malformed_tile'
  | 'head_behind'
  | 'service_halted'
  | 'file_mismatch'
  | 'missing_file'
  | 'malformed_file'
  | 'undeclared_withholding'
  | 'receipt_mismatch'
  | 'receipt_unproven'
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
