import {
  type CsvColumn,
  type CsvEvent,
  csvColumns,
  csvHeader,
  csvRow,
  type EventFilter,
  formatTimestamp,
} from '@indelible/protocol';
import { eventJson } from '../events/store.ts';

export const exportFormats = ['csv', 'ndjson'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export const mediaTypes: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
};

/** How events become a file. */
export interface FileShape {
  /** Whether the lines hold the states before and after. */
  states: boolean;
  header: string;
  line(event: CsvEvent): string;
}

/** CSV as contract and `indelible verify` know it, or every event whole, as `indelible import` takes it. */
export function fileShape(format: ExportFormat, names: readonly string[] | null): FileShape {
  if (format === 'ndjson') return { states: true, header: '', line: eventLine };
  const columns = (names ?? csvColumns) as readonly CsvColumn[];
  const states = columns.includes('before') || columns.includes('after');
  return { states, header: csvHeader(columns), line: (event) => csvRow(event, columns) };
}

function eventLine(event: CsvEvent): string {
  return `${eventJson(event, true, event.before !== null || event.after !== null)}\n`;
}

/**
 * `acme-corp_audit-log_2026-01-01_2026-02-01_exported-20260301T101112Z.csv`: tenant, range and time.
 * ASCII letters, digits and `._-` only, so that it needs no quoting anywhere; an open end of the range
 * is `all` or `now`.
 */
export function fileName(
  tenantName: string,
  { from, to }: EventFilter,
  format: ExportFormat,
  createdAtMs: number,
): string {
  const range = `${from === undefined ? 'all' : moment(from)}_${to === undefined ? 'now' : moment(to)}`;
  const exported = compact(createdAtMs);
  return `${slug(tenantName)}_audit-log_${range}_exported-${exported}.${format}`;
}

/** A midnight as its day alone. */
function moment(ms: number): string {
  return ms % 86_400_000 === 0 ? formatTimestamp(ms).slice(0, 10) : compact(ms);
}

function compact(ms: number): string {
  return formatTimestamp(ms).replaceAll(/[-:]|\.\d+/g, '');
}

function slug(name: string): string {
  const ascii = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const words = ascii.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '');
  return words.slice(0, 60) || 'tenant';
}
