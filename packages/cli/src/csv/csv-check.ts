import {
  type CsvColumn,
  csvColumns,
  csvEventOf,
  csvHeader,
  csvRow,
  decidingSegments,
  type EventFilter,
  eventFields,
  eventMatches,
  type FindingCode,
  isCsvColumn,
  type NamedValue,
  namedValues,
  parseBodyLine,
  readOrNull,
  resolvedFilter,
  uuidFromEventId,
  withheldSegments,
  withholdableSegments,
} from '@indelible/protocol';
import type { BundleCheck, VerifiedBundle } from '../bundle/verify-bundle.ts';
import { UsageError } from '../io.ts';
import type { Reading } from '../verify/entry-file.ts';
import { unknownText } from '../verify/unknown-text.ts';
import { type CsvRecord, cellsOf, csvRecords } from './csv-reader.ts';
import { EventIndex, type IndexedEvent } from './event-index.ts';

interface CsvOptions {
  path: string;
  /** The filter of the exported table. */
  filter: EventFilter;
  order: 'asc' | 'desc';
  /** The sequence of the export's own event: the table contains earlier events. */
  recordedBefore: number;
}

/**
 * Compares a CSV of the service with a bundle: each row equals the row of an event, no matching
 * event is missing or repeated, and the order is that of the list.
 */
export function csvCheck(options: CsvOptions): BundleCheck {
  const index = new EventIndex();
  const { filter, recordedBefore, path } = options;
  let isOrdered = true;
  let resolved: EventFilter | null = null;
  /** Persons and resources of the filter that no event had so far. */
  let unknown: NamedValue[] | null = null;
  return {
    what: 'csv',
    subject: path,
    onLine(line) {
      const body = readOrNull(() => parseBodyLine(line));
      if (body === null) return; // a finding of the bundle already
      const { event } = body;
      resolved ??= resolvedFilter(filter, event.tenantId);
      unknown ??= namedValues(filter, event.tenantId);
      if (unknown.length > 0) unknown = unknown.filter(({ alone }) => !eventMatches(event, alone));
      const wanted = event.sequence < recordedBefore && eventMatches(event, resolved);
      isOrdered = index.add(event.uuid, event.sequence, wanted, line) && isOrdered;
    },
    async finish(bundle, verified) {
      requireProvableFilter(filter, verified);
      if (!isOrdered) {
        const message = 'The events of the bundle are not in order of id.';
        bundle.findings.add('malformed_file', message);
      }
      const comparison = new Comparison(options, index, bundle);
      await comparison.run();
      return comparison.outcome(unknown ?? namedValues(filter, verified.manifest.tenantId));
    },
    close: () => index.close(),
  };
}

/** A filter by what the bundle withholds cannot be checked. */
function requireProvableFilter(filter: EventFilter, { manifest, counts }: VerifiedBundle): void {
  const deciding = decidingSegments(resolvedFilter(filter, manifest.tenantId));
  // Parts that are withheld and not declared are a finding already.
  const hidden = manifest.withheld.find((name) => deciding.has(name) && counts.withheld[name] > 0);
  if (hidden === undefined) return;
  throw new UsageError(
    `the bundle withholds ${hidden}, on which the filter of the table depends: compare it with a ` +
      'bundle that has that part',
  );
}

/** The columns of each segment that can be withheld. */
const segmentColumns = Object.fromEntries(
  withholdableSegments.map((name) => [
    name,
    eventFields
      .filter(({ segment, members = {} }) =>
        [segment, ...Object.values(members).map((member) => member.segment)].includes(name),
      )
      .map(({ path }) => path as CsvColumn),
  ]),
);

class Comparison {
  readonly #options: CsvOptions;
  readonly #index: EventIndex;
  readonly #bundle: Reading;
  readonly #seen: Uint8Array;
  #columns: readonly CsvColumn[] = csvColumns;
  #rows = 0;
  #unproven = 0;
  /** Position of the previous row; the next row is probably its neighbour. */
  #last: number | null = null;

  constructor(options: CsvOptions, index: EventIndex, bundle: Reading) {
    this.#options = options;
    this.#index = index;
    this.#bundle = bundle;
    this.#seen = new Uint8Array(Math.ceil(index.size / 8));
  }

  async run(): Promise<void> {
    const { progress } = this.#bundle;
    progress.stage('rows', null);
    let hasHeader = false;
    for await (const record of csvRecords(this.#options.path)) {
      if (record.number === 1) {
        hasHeader = this.#takeHeader(record);
        if (!hasHeader) break;
      } else {
        this.#rows += 1;
        this.#takeRow(record);
        progress.advance(1);
      }
    }
    if (hasHeader) this.#findMissing();
    else
      this.#add('csv_header', 'The first line is not a header of the service with the column id.');
  }

  outcome(unknown: readonly NamedValue[]) {
    const rows = this.#rows;
    const hidden = this.#unproven;
    const how = hidden === 0 ? 'exactly' : 'in the cells that the bundle shows';
    const follows = [
      `The ${rows} rows match the log ${how}, in order. No event of the bundle that ` +
        'matches the filter is missing.',
    ];
    // An attacker can write anything there.
    const unproven = unknown.map(({ name, value }) => unknownText(name, value));
    if (hidden > 0)
      unproven.push(`What ${hidden} cells of the table say: the bundle does not show it.`);
    return { checked: { rows }, follows, unproven };
  }

  /** The file's header, if its columns are known. */
  #takeHeader({ cells, bytes }: CsvRecord): boolean {
    const names = cells?.filter(isCsvColumn) ?? [];
    const fine =
      names.length === cells?.length &&
      new Set(names).size === names.length &&
      names.includes('id') &&
      bytes.toString() === csvHeader(names);
    if (fine) this.#columns = names;
    return fine;
  }

  #takeRow(record: CsvRecord): void {
    const { number, cells } = record;
    const row = `Row ${number}`;
    if (cells === null || cells.length !== this.#columns.length) {
      this.#add('csv_row_malformed', `${row} is not a line of this table.`);
      return;
    }
    const id = cells[this.#columns.indexOf('id')] ?? '';
    const uuid = uuidFromEventId(id);
    if (uuid === null) {
      this.#add('csv_row_malformed', `${row} has no id of an event.`);
      return;
    }
    const step = this.#options.order === 'asc' ? 1 : -1;
    const index = this.#index.find(uuid, (this.#last ?? this.#start()) + step);
    if (index < 0) {
      this.#add('csv_row_unknown', `${row} is of event ${id}, which is not in the bundle.`, {
        eventId: id,
      });
      return;
    }
    this.#judge(record, id, this.#index.read(index), step);
  }

  #judge(record: CsvRecord, eventId: string, event: IndexedEvent, step: number): void {
    const { index, sequence } = event;
    const add = (code: FindingCode, text: string) =>
      this.#add(code, `Row ${record.number}, event ${eventId}, sequence ${sequence}, ${text}.`, {
        sequence,
        eventId,
      });
    const wrongWay = this.#last !== null && (index - this.#last) * step < 0;
    if (this.#isSeen(index)) add('csv_row_repeated', 'appears twice');
    else if (!event.wanted) add('csv_row_unwanted', 'does not match the filter');
    else if (wrongWay) add('csv_row_order', 'is not in the order of the list');
    this.#seen[index >> 3] = (this.#seen[index >> 3] ?? 0) | (1 << (index & 7));
    this.#last = index;
    const altered = this.#alteredColumns(record, event);
    if (altered.length > 0) add('csv_row_altered', `does not match the log: ${altered.join(', ')}`);
  }

  /** The columns whose cells differ from the event; skips withheld ones. */
  #alteredColumns({ bytes, cells }: CsvRecord, { line }: IndexedEvent): string[] {
    const body = parseBodyLine(line);
    const row = csvRow(csvEventOf(body.event), this.#columns);
    if (bytes.equals(Buffer.from(row))) return [];
    const hidden = withheldSegments(body).flatMap((name) => segmentColumns[name] ?? []);
    const wanted = cellsOf(row.replace(/\r\n$/, ''));
    const others = this.#columns.filter((column, at) => {
      if (cells?.[at] === wanted?.[at]) return false;
      if (!hidden.includes(column)) return true;
      this.#unproven += 1;
      return false;
    });
    // Equal cells with other quotes or line breaks: not the bytes that the service wrote.
    return others.length === 0 && hidden.length === 0 ? ['the way it is written'] : others;
  }

  #findMissing(): void {
    for (let index = 0; index < this.#index.size; index += 1) {
      if (this.#isSeen(index) || !this.#index.isWanted(index)) continue;
      const { sequence, line } = this.#index.read(index);
      const { id } = parseBodyLine(line).event;
      const message =
        `Event ${id}, sequence ${sequence}, matches the filter and has no row: it was removed, ` +
        'or recorded after the table was made (then pass --recorded-before).';
      this.#add('csv_row_missing', message, { sequence, eventId: id });
    }
  }

  #start(): number {
    return this.#options.order === 'asc' ? -1 : this.#index.size;
  }

  #isSeen(index: number): boolean {
    return ((this.#seen[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
  }

  #add(
    code: FindingCode,
    message: string,
    position: { sequence?: number; eventId?: string } = {},
  ): void {
    this.#bundle.findings.add(code, message, position);
  }
}
