import { createFindings, type Finding, type FindingCode, type Findings } from '@indelible/protocol';

/**
 * What can be wrong outside of entries and bodies, beside the codes of `FindingCode`. Stable:
 * - `malformed_checkpoint`, `unknown_key`, `bad_signature`: there is no trustworthy checkpoint
 * - `retired_key`: it covers what was recorded when its key was no longer in use
 * - `missing_log`: the service has no log where this machine has seen one
 * - `other_log`, `rolled_back`, `forked`, `inconsistent`: it contradicts one that was seen before
 * - `missing_tile`, `malformed_tile`: a tile that the checkpoint's size promises cannot be had
 * - `head_behind`: the service itself says that its log is shorter than its checkpoint
 * - `service_halted`: the service has found itself that its database contradicts what it published
 * - `file_mismatch`, `missing_file`, `malformed_file`: a bundle is not what was written
 * - `undeclared_withholding`: parts of events are kept back, and the bundle does not say so
 * - `receipt_mismatch`, `receipt_unproven`: the log does not hold what a receipt promises
 * - `csv_header`, `csv_row_altered`, `csv_row_unknown`, `csv_row_repeated`, `csv_row_unwanted`,
 *   `csv_row_order`, `csv_row_missing`, `csv_row_malformed`: a CSV is not what was logged
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

/** A finding of any kind, as reports carry it. */
export interface ReportFinding extends Omit<Finding, 'code'> {
  code: FindingCode | DamageCode;
}

/** Everything that was found, and the place of the first damage among it. */
export interface AllFindings extends Findings {
  /** The smallest sequence that any finding names, with the first event named there. */
  place(): { sequence: number; eventId: string | null } | null;
}

export function createAllFindings(): AllFindings {
  const findings = createFindings();
  let place: { sequence: number; eventId: string | null } | null = null;
  return {
    ...findings,
    add(finding) {
      findings.add(finding);
      const { sequence, eventId } = finding;
      if (sequence === null) return;
      if (place === null || sequence < place.sequence) place = { sequence, eventId };
      // Of several findings about one place, any may know whose it is.
      else if (sequence === place.sequence) place.eventId ??= eventId;
    },
    place: () => place,
  };
}

/** Adds a finding of ours to those of the passes, so that all are counted and ordered together. */
export function addDamage(
  findings: Findings,
  code: DamageCode,
  message: string,
  place: { sequence?: number | null; eventId?: string | null } = {},
): void {
  const { sequence = null, eventId = null } = place;
  // The collection takes whatever code it is given; only its type knows the passes alone.
  findings.add({ code: code as FindingCode, sequence, eventId, message });
}

/** The same collection, in which each finding is put down as `change` has it. */
export function changing(findings: Findings, change: (finding: Finding) => Finding): Findings {
  return { ...findings, add: (finding) => findings.add(change(finding)) };
}
