import {
  type CsvColumn,
  csvColumns,
  csvHeader,
  csvRow,
  type EventFilter,
  formatTimestamp,
} from '@indelible/protocol';
import { eventJson, hasState } from '../../events/prepared-event.ts';
import type { ExportFile } from '../store.ts';
import type { ExportedEvent } from './rows.store.ts';

type ExportFormat = ExportFile['format'];

export const mediaTypes: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
};

/** How events become lines. */
interface FileShape {
  /** Whether the lines contain states. */
  withStates: boolean;
  header: string;
  line(event: ExportedEvent): string;
}

/** CSV for `indelible verify`, or complete events for `indelible import`. */
export function fileShape(format: ExportFormat, names: readonly string[] | null): FileShape {
  if (format === 'ndjson') return ndjson;
  const columns = (names ?? csvColumns) as readonly CsvColumn[];
  return {
    withStates: columns.includes('before') || columns.includes('after'),
    header: csvHeader(columns),
    line: (event) => csvRow(event, columns),
  };
}

const ndjson: FileShape = {
  withStates: true,
  header: '',
  line: (event) => `${eventJson(event, true, hasState(event))}\n`,
};

/** The object name of a job's file. */
export function objectName(file: ExportFile): string {
  return `exports/${file.tenantId}/${file.id}.${file.format}`;
}

/**
 * `acme-corp_audit-log_2026-01-01_2026-02-01_exported-20260301T101112Z.csv`: tenant, range and
 * time. Only ASCII letters, digits and `._-`, so that it needs no quoting; an open end of the range
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

/** A midnight as its date only. */
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
