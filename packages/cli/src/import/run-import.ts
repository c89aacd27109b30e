import { setTimeout as delay } from 'node:timers/promises';
import {
  type BatchResult,
  backoffMs,
  type IndelibleClient,
  UnreachableError,
} from '@indelible/client';
import { batchBytesMax, batchEventsMax, isUuid, type Plan } from '@indelible/protocol';
import type { Findings } from './findings-file.ts';
import { FirstLines } from './foreign-form.ts';
import { Lanes } from './lanes.ts';
import { LineOrders } from './line-orders.ts';
import { isBlank, type Line, LineSplitter } from './line-splitter.ts';
import type { Source } from './source.ts';
import { SourceIdTable } from './source-id-table.ts';
import { type LineRefusal, type LineRules, type SourceEvent, takeLine } from './source-line.ts';
import { addConflict, countIn, type Tally } from './tally.ts';

/** The calls of the service that an import makes; a dry run answers them itself. */
export interface ImportService extends Pick<IndelibleClient, 'recordBatchTexts'> {
  tenants: Pick<IndelibleClient['tenants'], 'put'>;
}

export interface ImportRun {
  client: ImportService;
  source: Source;
  tally: Tally;
  rejected: Findings;
  conflicts: Findings;
  rules: LineRules;
  /** The plan for unknown tenants; null: their events are rejected. */
  createTenants: Plan | null;
  /** Stops reading; batches in flight are still settled. */
  stop: AbortController;
  /** Aborts everything. */
  signal: AbortSignal;
}

const limits = {
  lanes: 4,
  // Batches this large are recorded as quickly as larger ones.
  batchEventsMax: Math.min(500, batchEventsMax),
  batchBytesMax: Math.min(4 * 2 ** 20, batchBytesMax),
  queuedEventsMax: 4_000,
  queuedTextMax: 32 * 2 ** 20,
};

/**
 * Imports a source from its first line to its last, or until `stop`. The outcome is in `tally` and
 * in the two files, also after an error. Memory grows only with the table of source ids, some 50
 * bytes each. Throws errors of reading and sending.
 */
export async function runImport(run: ImportRun): Promise<void> {
  const send = createSending({
    ...run,
    reject: (event, refusal) => reject(run, event.line, refusal),
  });
  const lanes = new Lanes<SourceEvent>(limits, async (batch) => {
    try {
      await send(batch);
    } catch (error) {
      // The reader may be waiting for input that never comes.
      run.stop.abort(error);
      throw error;
    }
  });
  try {
    await readAll(run, lanes);
    await lanes.drained();
  } catch (error) {
    await lanes.dropWaiting();
    throw error;
  } finally {
    run.rejected.close();
    run.conflicts.close();
  }
}

async function readAll(run: ImportRun, lanes: Lanes<SourceEvent>): Promise<void> {
  const splitter = new LineSplitter();
  const firstLines = new FirstLines();
  const known = { sourceIds: new SourceIdTable(), orders: new LineOrders() };
  const take = async (lines: Iterable<Line>) => {
    for (const line of lines) {
      run.stop.signal.throwIfAborted();
      if (isBlank(line)) continue;
      firstLines.note(line, takeOne(run, lanes, known, line));
      if (lanes.full) await lanes.room();
    }
  };
  for await (const chunk of run.source.chunks) await take(splitter.push(chunk));
  run.stop.signal.throwIfAborted();
  await take(splitter.end());
  firstLines.end();
}

/** Whether the line holds an event; the service may still refuse it. */
function takeOne(
  run: ImportRun,
  lanes: Lanes<SourceEvent>,
  { sourceIds, orders }: { sourceIds: SourceIdTable; orders: LineOrders },
  line: Line,
): boolean {
  run.tally.lines += 1;
  run.tally.lastLine = line.number;
  const taken = takeLine(line, run.rules, orders);
  if ('refusal' in taken) {
    reject(run, line, taken.refusal);
    return false;
  }
  const { source, tenantId, isMoved } = taken.event;
  if (isMoved) run.tally.moved += 1;
  const firstLine = source && sourceIds.note(source.key, source.content, line.number);
  if (source && firstLine) {
    const conflict = { sourceId: source.id, tenantId, firstLine, line: line.number };
    addConflict(run.tally, conflict);
    run.conflicts.append(conflict);
  }
  lanes.add(taken.event);
  return true;
}

function reject(run: ImportRun, line: Line, refusal: LineRefusal): void {
  run.tally.rejected += 1;
  countIn(run.tally.rejectedByCode, refusal.code);
  run.tally.rejections.add(line, refusal);
  run.rejected.append({ line: line.number, ...refusal, ...contentOf(line) });
}

/** The line as text if it is UTF-8, else in base64. */
function contentOf({ bytes, tooLong }: Line): { text: string } | { base64: string } {
  const text = bytes.toString();
  // A cut line may end within a character.
  return tooLong || Buffer.from(text).equals(bytes)
    ? { text }
    : { base64: bytes.toString('base64') };
}

interface SendingDeps extends Pick<ImportRun, 'createTenants' | 'tally' | 'signal'> {
  client: ImportService;
  reject(event: SourceEvent, refusal: LineRefusal): void;
}

const attemptsMax = 10;

/**
 * Sends a batch until each event is stored or rejected. Creates unknown tenants once and sends
 * their events again. It also repeats events that the service could not take: every event has its
 * id, so each is recorded once. Throws the client's errors, and UnreachableError after ten
 * attempts.
 */
export function createSending(deps: SendingDeps): (batch: SourceEvent[]) => Promise<void> {
  const created = new Set<string>();
  return async (batch) => {
    let left = batch;
    for (let attempt = 1; ; attempt += 1) {
      const results = await deps.client.recordBatchTexts(left.map(({ text }) => text));
      const { unknown, unavailable } = settle(left, results, created, deps);
      if (unknown.length + unavailable.length === 0) return;
      await createTenants(unknown, created, deps);
      if (unavailable.length > 0) await pause(attempt, deps.signal);
      const again = new Set([...unknown, ...unavailable]);
      left = left.filter((event) => again.has(event));
    }
  };
}

interface Unsettled {
  /** Events of tenants that can be created. */
  unknown: SourceEvent[];
  unavailable: SourceEvent[];
}

function settle(
  events: readonly SourceEvent[],
  results: readonly BatchResult[],
  created: ReadonlySet<string>,
  deps: SendingDeps,
): Unsettled {
  const unsettled: Unsettled = { unknown: [], unavailable: [] };
  for (const [index, event] of events.entries()) {
    const result = results[index];
    if (result === undefined) throw new Error('the service returned no result for an event');
    const code = result.error?.code;
    const creatable = deps.createTenants !== null && !created.has(event.tenantId);
    if (code === 'unavailable') unsettled.unavailable.push(event);
    else if (code === 'unknown_tenant' && creatable) unsettled.unknown.push(event);
    else settleOne(event, result, deps);
  }
  return unsettled;
}

// The service's sentence is about the id, which the import has made of timestamp and sourceId.
const conflictReason =
  'this import or a former one stored this sourceId, at this time, with other content';

function settleOne(event: SourceEvent, result: BatchResult, { tally, reject }: SendingDeps): void {
  for (const warning of result.warnings ?? []) countIn(tally.warnings, warning);
  // The service gets the texts, and cannot know.
  if (event.hasNumbersAsText && !result.error) countIn(tally.warnings, 'number_as_text');
  if (result.status === 'created') tally.created += 1;
  else if (result.status === 'duplicate') tally.duplicates += 1;
  else {
    const { code = 'internal_error', detail = '', errors } = result.error ?? {};
    const reason = code === 'id_conflict' && event.source ? conflictReason : detail;
    reject(event, { code, reason, ...(errors ? { errors } : {}) });
  }
}

async function createTenants(
  unknown: readonly SourceEvent[],
  created: Set<string>,
  { client, createTenants: plan, tally }: SendingDeps,
): Promise<void> {
  if (plan === null) return;
  const names = new Map(unknown.map(({ tenantId, tenantName }) => [tenantId, tenantName]));
  for (const [tenantId, named] of names) {
    const short = named.slice(0, isUuid(named) ? 8 : 150);
    await client.tenants.put(named, { name: `Imported ${short}`, plan });
    created.add(tenantId);
    tally.tenantsCreated += 1;
  }
}

async function pause(attempt: number, signal: AbortSignal): Promise<void> {
  if (attempt >= attemptsMax) {
    throw new UnreachableError('the service answers, but cannot record now');
  }
  await delay(backoffMs(attempt, Math.random(), 0), undefined, { signal });
}
