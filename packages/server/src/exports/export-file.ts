import {
  type CsvColumn,
  csvColumns,
  csvFurtherColumns,
  csvHeader,
  csvLines,
  type EventFilter,
  formatTimestamp,
} from '@indelible/protocol';
import { eventJson, hasState } from '../events/store.ts';
import type { ExportedEvent } from './packed-event.ts';

export const exportFormats = ['csv', 'ndjson'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export const mediaTypes: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
};

/** How events become a file, and what of them is needed for that. */
export interface FileShape {
  /** Whether the lines hold the states, or when and by whom an event was recorded. */
  whole: boolean;
  header: string;
  line(event: ExportedEvent): string;
}

/** CSV as contract and `indelible verify` know it, or every event whole, as `indelible import` takes it. */
export function fileShape(format: ExportFormat, names: readonly string[] | null): FileShape {
  if (format === 'ndjson') return { whole: true, header: '', line: eventLine };
  const columns = (names ?? csvColumns) as readonly CsvColumn[];
  const whole = csvFurtherColumns.some((column) => columns.includes(column));
  return { whole, header: csvHeader(columns), line: csvLines(columns) };
}

function eventLine(event: ExportedEvent): string {
  return `${eventJson(event, true, hasState(event))}\n`;
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
