import type { IndelibleClient } from '@indelible/client';
import {
  type Checkpoint,
  createFindings,
  equalBytes,
  type Finding,
  type FindingCode,
  type Findings,
  FormatError,
  leafHash,
  parseEventProof,
  tileWidth,
} from '@indelible/protocol';
import type { EntryFile } from './entry-file.ts';
import { sha } from './hashing.ts';
import type { Span } from './log-entries.ts';
import { inOrder } from './log-source.ts';
import { eventIdAt } from './report.ts';
import { nullWhenFailed } from './service-log.ts';

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

/** All findings, and the position of the first damage. */
export interface AllFindings extends Findings {
  /** The smallest sequence of all findings, and the event named for it. */
  position(): { sequence: number; eventId: string | null } | null;
}

export function createAllFindings(): AllFindings {
  const findings = createFindings();
  let position: { sequence: number; eventId: string | null } | null = null;
  return {
    ...findings,
    add(finding) {
      findings.add(finding);
      const { sequence, eventId } = finding;
      if (sequence === null) return;
      if (position === null || sequence < position.sequence) position = { sequence, eventId };
      // Of several findings for one sequence, any may name the event.
      else if (sequence === position.sequence) position.eventId ??= eventId;
    },
    position: () => position,
  };
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

/**
 * The first entry that differs from its event, if entries differ from the signed ones and bodies do
 * not show which: an event's proof has its leaf hash to the microsecond. Checks the entries of
 * `span`, or only the last, incomplete tile if there are too many; returns `span` if that shows
 * nothing.
 */
export async function narrowed(
  client: IndelibleClient,
  span: Span,
  file: EntryFile,
  { size }: Checkpoint,
): Promise<Span> {
  const isWide = span.to - span.from >= tileWidth;
  const from = isWide ? Math.max(span.from, size - (size % tileWidth)) : span.from;
  const fits = (n: number) => fitsProof(client, file, from + n);
  let sequence = from;
  for await (const fine of inOrder(Math.min(span.to, file.size - 1) - from + 1, 8, fits)) {
    if (!fine) return { from: sequence, to: sequence };
    sequence += 1;
  }
  return span;
}

async function fitsProof(
  client: IndelibleClient,
  file: EntryFile,
  sequence: number,
): Promise<boolean> {
  const id = eventIdAt(file, sequence);
  const leaf = leafHash(sha, file.at(sequence));
  if (id === null) return true;
  try {
    const proof = await client.log.proof(id).catch(nullWhenFailed);
    return proof === null || equalBytes(parseEventProof(proof).leafHash, leaf);
  } catch (error) {
    if (error instanceof FormatError) return true; // says nothing about this entry
    throw error;
  }
}
