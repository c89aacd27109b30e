import {
  csvColumns,
  csvFurtherColumns,
  type EventFilter,
  type FieldProblem,
  fieldProblemsMax,
  filterToJson,
  isCsvColumn,
  isObject,
  parseFilterBody,
  pointerOf,
  unknownNameMessage,
} from '@indelible/protocol';
import { invalid } from '../http/problem.ts';
import { type ExportFormat, exportFormats } from './file/export-file.ts';

/** The parameters of a new export. */
export interface ExportInput {
  filter: EventFilter;
  format: ExportFormat;
  /** Null: the standard ones. */
  columns: string[] | null;
}

type Refuse = (path: string, code: string, message: string) => void;

const members = ['filters', 'format', 'columns'];

/**
 * Reads the body of a new export. Throws `validation_failed` with every problem: an export without
 * a requested filter or column would be misleading.
 */
export function readExportInput(body: unknown): ExportInput {
  const problems: FieldProblem[] = [];
  const refuse: Refuse = (path, code, message) => {
    if (problems.length < fieldProblemsMax) problems.push({ path, code, message });
  };
  if (!isObject(body)) {
    refuse('', 'invalid_type', 'must be an object');
    throw invalid(problems);
  }
  const { filters, format, columns } = body;
  for (const name of Object.keys(body).slice(0, fieldProblemsMax)) {
    if (!members.includes(name)) {
      refuse(pointerOf(name), 'unknown_field', unknownNameMessage('field', name, members));
    }
  }
  const input = {
    filter: readFilters(filters, refuse),
    format: readFormat(format, refuse),
    columns: readColumns(columns, format, refuse),
  };
  if (problems.length > 0) throw invalid(problems);
  return input;
}

function readFilters(json: unknown, refuse: Refuse): EventFilter {
  if (json === undefined) refuse('/filters', 'required', 'is required; {} selects every event');
  const parsed = parseFilterBody(json ?? {}, '/filters');
  if (json === null) refuse('/filters', 'invalid_type', 'must be an object');
  if ('filter' in parsed) return parsed.filter;
  for (const { path, code, message } of parsed.problems) refuse(path, code, message);
  return {};
}

function readFormat(value: unknown, refuse: Refuse): ExportFormat {
  const format = exportFormats.find((each) => each === value);
  if (format === undefined) refuse('/format', 'invalid_value', 'must be csv or ndjson');
  return format ?? 'csv';
}

const knownColumns = [...csvColumns, ...csvFurtherColumns].join(', ');

function readColumns(value: unknown, format: unknown, refuse: Refuse): string[] | null {
  if (value === undefined || value === null) return null;
  if (format === 'ndjson')
    refuse('/columns', 'invalid_value', 'is allowed with csv only: ndjson always has every field');
  if (!Array.isArray(value) || value.length === 0) {
    refuse('/columns', 'invalid_type', 'must be a list of column names, or be omitted');
    return null;
  }
  for (const [index, name] of value.entries()) {
    if (problemOf(value, index, name)) refuse(`/columns/${index}`, ...unknownOrRepeated(name));
  }
  return value;
}

function problemOf(all: readonly unknown[], index: number, name: unknown): boolean {
  return typeof name !== 'string' || !isCsvColumn(name) || all.indexOf(name) !== index;
}

function unknownOrRepeated(name: unknown): [code: string, message: string] {
  if (typeof name === 'string' && isCsvColumn(name)) return ['duplicate', 'appears twice'];
  return ['unknown_column', `is not a column; columns: ${knownColumns}`];
}

/** The filter for people: `action: update, not delete · user: ana@example.com`; '' without one. */
export function filterWords(filter: EventFilter): string {
  return Object.entries(filterToJson(filter))
    .map(([name, values]) => `${name}: ${[values].flat().map(word).join(', ')}`)
    .join(' · ');
}

function word(value: string): string {
  return value.startsWith('!') ? `≠ ${value.slice(1)}` : value;
}
