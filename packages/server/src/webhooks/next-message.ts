import { decodeEntry, type EventFilter, type ListQuery, storedFilter } from '@indelible/protocol';
import { type CutPage, eventJson, eventsById, type Visibility } from '../events/index.ts';
import { type ExportRow, getExport } from '../exports/index.ts';
import { readEntries } from '../log/index.ts';
import type { TenantTx } from '../postgres/index.ts';
import type { WebhookRow } from './store.ts';

/** An event of a message: its JSON text is that of the list. */
export interface MessageEvent {
  sequence: number;
  text: string;
}

/** What follows in the log for an endpoint; `end` is the sequence behind what was looked at. */
export type Next =
  | { kind: 'nothing' }
  | { kind: 'passed'; end: number }
  | { kind: 'events'; end: number; events: MessageEvent[] }
  | { kind: 'export'; end: number; sequence: number; export: ExportRow };

export const messageEventsMax = 100;

// Mostly the next message's hundred and the record of
// the last one; more at once where little matches.
const firstChunkEntries = 128;
const chunkEntries = 512;
// A rare filter must not read for ever: what was passed over is written down in between.
const chunksMax = 20;

type Endpoint = Pick<WebhookRow, 'types' | 'filters' | 'nextSequence' | 'announcedSequence'>;

/**
 * What is due behind the endpoint's place, up to `until`: up to 100 events that
 * match, in the order of the log and of at most `bytesMax` bytes (one larger
 * event travels alone), as far as the plan still shows them. Deliveries are never
 * delivered. An export that became ready is a message of its own, in its place.
 */
export async function readNext(
  tx: TenantTx,
  endpoint: Endpoint,
  visible: Visibility,
  until: number,
  bytesMax: number,
): Promise<Next> {
  const wantsEvents = endpoint.types.includes('audit.events.recorded');
  const events = new Batch(bytesMax);
  let at = endpoint.nextSequence;
  for (let chunk = 0; chunk < chunksMax && at < until; chunk++) {
    const end = Math.min(at + (chunk === 0 ? firstChunkEntries : chunkEntries), until);
    const uuids = (await readEntries(tx, at, end)).map((entry) => decodeEntry(entry).eventUuid);
    const ready = await readyExport(tx, endpoint, uuids, visible);
    const stop = ready?.sequence ?? end;
    if (wantsEvents) {
      const query = { ...asInLog, filter: storedFilter(endpoint.filters), limit: events.room };
      const found = await eventsById(tx, uuids.slice(0, stop - at), query, visible, bytesMax);
      const cut = events.add(found);
      if (cut !== null) return events.until(cut);
    }
    if (ready && events.isEmpty) return { kind: 'export', end: stop + 1, ...ready };
    at = stop;
    if (ready) break;
  }
  return at > endpoint.nextSequence ? events.until(at) : { kind: 'nothing' };
}

const asInLog: Omit<ListQuery, 'filter' | 'limit'> = {
  sort: 'sequence',
  order: 'asc',
  include: { total: false, state: false },
};

/** Events of a message in the making. */
class Batch {
  readonly #list: MessageEvent[] = [];
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get room(): number {
    return messageEventsMax - this.#list.length;
  }

  get isEmpty(): boolean {
    return this.#list.length === 0;
  }

  until(end: number): Next {
    return this.isEmpty ? { kind: 'passed', end } : { kind: 'events', end, events: this.#list };
  }

  /** Returns where the message ends if it is full with these, else null. */
  add({ rows, more }: CutPage): number | null {
    for (const row of rows) {
      if (row.action === 'send' && row.resourceType === 'webhook') continue;
      const text = eventJson(row, false, row.hasState);
      this.#bytes += Buffer.byteLength(text);
      if (this.#bytes > this.#bytesMax && this.#list.length > 0) return row.sequence;
      this.#list.push({ sequence: row.sequence, text });
    }
    const last = rows.at(-1);
    if (last && (more || this.room === 0)) return last.sequence + 1;
    return null;
  }
}

const exportEnded: EventFilter = {
  action: { any: ['export'], none: [] },
  resource: { any: ['export'], none: [] },
};

/**
 * The first of these events that says that a file can be downloaded now, and was not told of yet.
 */
async function readyExport(
  tx: TenantTx,
  { types, announcedSequence }: Endpoint,
  uuids: readonly string[],
  visible: Visibility,
): Promise<{ sequence: number; export: ExportRow } | null> {
  if (!types.includes('audit.export.ready')) return null;
  const query = { ...asInLog, filter: exportEnded, limit: chunkEntries };
  const { rows } = await eventsById(tx, uuids, query, visible, Number.MAX_SAFE_INTEGER);
  for (const { sequence, recordedByKind, resourceId } of rows) {
    if (recordedByKind !== 'service' || sequence <= announcedSequence) continue;
    const found = await getExport(tx, resourceId);
    // What was sent with an answer, failed or was cancelled is no file that anybody could fetch.
    const isFile = found?.mode === 'job' && ['ready', 'expired'].includes(found.status);
    if (found && isFile) return { sequence, export: found };
  }
  return null;
}
