import {
  type CommittedEvent,
  contextOf,
  isLate,
  lateClass,
  type Sha256,
  uuidTimeMs,
} from '@indelible/protocol';
import { appendedEvents, type InsertedRow } from '../events/event-columns.store.ts';
import { type PreparedEvent, type StoredEvent, sameContent } from '../events/prepared-event.ts';
import { storedColumns } from '../events/read-columns.store.ts';
import { type LogAppend, type LogHead, planAppend, receivedUsOf } from '../log/sequencer.ts';
import { recordLogs } from '../log/store.ts';
import type { WriterTx } from '../postgres/db.ts';
import { isSharded } from '../postgres/engine.ts';
import { int2Array, uuidArray } from '../postgres/pg-arrays.ts';
import type { Commit } from '../postgres/transaction.ts';

/** The outcome of one event of a batch, in the given order. */
export type Appended =
  | { status: 'created'; sequence: number; receivedAtMs: number; leafHash: Uint8Array }
  | { status: 'duplicate'; stored: StoredEvent }
  | { status: 'conflict' };

/** A transaction that was committed at once has written nothing, and must be repeated. */
export class RepeatedId extends Error {}

/** The events of one tenant to append, with its locked head. */
export interface TenantBatch {
  head: LogHead;
  events: readonly PreparedEvent[];
}

/**
 * Appends events to their tenants' logs in `tx`. Assumes that all ids are new, because most batches
 * repeat none: a call inserts and appends, and all are undone if one finds a repeated id. With
 * `commit` it commits at once, and throws RepeatedId, having written nothing, if an id is repeated.
 */
export async function appendEvents(
  tx: WriterTx,
  sha: Sha256,
  batches: readonly TenantBatch[],
  nowMs: number,
  commit?: Commit,
): Promise<Appended[][]> {
  const known = await storedElsewhere(tx, batches, nowMs);
  // A single call that finds a repeated id has written nothing.
  const mustUndo = isSharded(tx) || batches.some(mayMove);
  let saved: Promise<unknown> | undefined;
  for (;;) {
    const fresh = batches.map((batch) => ({
      head: batch.head,
      events: withoutKnown(batch, known),
    }));
    const appends = fresh.map(({ head, events }) => {
      const append = planAppend(sha, head, events, nowMs);
      return { ...append, events, rows: rowsOf(head, events, nowMs, append) };
    });
    const grown = appends.filter((append) => append.leaves.length > 0);
    const rowsIn = (own: readonly { rows: InsertedRow[] }[]) => own.flatMap(({ rows }) => rows);
    if (mustUndo) saved ??= tx.query('SAVEPOINT append'); // travels with the insert
    const eventsOf = (own: Parameters<typeof rowsIn>[0]) => appendedEvents(rowsIn(own));
    const inserted = recordLogs(tx, grown, eventsOf);
    // On a cluster the savepoint may be what meets a lost node, also with nothing to insert.
    const [recorded] = await Promise.all([inserted, saved, mustUndo ? undefined : commit?.()]);
    const isNew = recorded.every((stored) => stored !== 0);
    const moved = isNew ? await storedElsewhere(tx, fresh.filter(mayMove), nowMs) : null;
    if (moved?.size === 0) return batches.map((batch, b) => outcomes(batch, known, appends[b]));
    if (mustUndo) await tx.query('ROLLBACK TO SAVEPOINT append');
    else if (commit) throw new RepeatedId();
    const found = moved ?? (await findStored(tx, rowsIn(grown)));
    if (found.size === 0) throw new Error('an insert met a conflict that cannot be found');
    for (const [key, stored] of found) known.set(key, stored);
  }
}

/**
 * While a tenant's events move, the look before an insert may have been planned without a partition
 * that was just made and now holds one of its ids, and the insert goes to another class: one more
 * look is needed, planned after the insert, which has told the session of that partition. No event
 * moves twice while the head is locked.
 */
const mayMove = ({ head }: TenantBatch) => head.otherClasses.some((each) => each !== lateClass);

const keyOf = (e: { tenantId: string; uuid: string }) => `${e.tenantId}/${e.uuid}`;

/**
 * The primary key has the class: looks for rows of other ones. An event that is not late has never
 * come late.
 */
async function storedElsewhere(tx: WriterTx, batches: readonly TenantBatch[], nowMs: number) {
  const keys = batches.flatMap(({ head, events }) =>
    events.flatMap((event) => {
      const own = classOf(head, event, nowMs);
      return [head.retentionClass, ...head.otherClasses]
        .filter((each) => each !== own && each !== lateClass)
        .map((retentionClass) => ({ event, retentionClass }));
    }),
  );
  return keys.length === 0 ? new Map<string, StoredEvent>() : findStored(tx, keys);
}

/**
 * The outcome of events that are too old to be recorded now, by id: a repeat of one that was
 * recorded in time is answered as long as it is shown, because it was received since `shownFromMs`.
 */
export async function shownRepeats(
  tx: WriterTx,
  { head, events }: TenantBatch,
  shownFromMs: number,
): Promise<Map<string, Appended>> {
  const classes = [head.retentionClass, ...head.otherClasses];
  const keys = events.flatMap((event) =>
    classes.map((retentionClass) => ({ event, retentionClass })),
  );
  const found = await findStored(tx, keys);
  return new Map(
    events.flatMap((event): [string, Appended][] => {
      const stored = found.get(keyOf(event));
      if (!stored || stored.receivedAtMs < shownFromMs) return [];
      return [[event.uuid, asRepeat(event, stored)]];
    }),
  );
}

/** Whether an event with a stored id says what is stored. */
function asRepeat(event: PreparedEvent, stored: StoredEvent): Appended {
  return sameContent(event, stored) ? { status: 'duplicate', stored } : { status: 'conflict' };
}

/** The first event of each id that is not stored yet; drops repeats in the same batch. */
function withoutKnown(
  batch: TenantBatch,
  known: Map<string, StoredEvent>,
): readonly PreparedEvent[] {
  if (known.size === 0 && batch.events.length === 1) return batch.events;
  const firsts = new Map<string, PreparedEvent>();
  for (const event of batch.events) {
    if (!known.has(keyOf(event)) && !firsts.has(event.uuid)) firsts.set(event.uuid, event);
  }
  return [...firsts.values()];
}

function rowsOf(
  head: LogHead,
  events: readonly PreparedEvent[],
  nowMs: number,
  append: LogAppend,
): InsertedRow[] {
  return events.map((event, index) => ({
    event,
    retentionClass: classOf(head, event, nowMs),
    sequence: head.size + index,
    receivedAtUs: append.receivedUs,
    salts: event.salts,
    erased: null,
    source: event.context?.includes('"source"') ? contextOf(event).source : undefined,
  }));
}

function outcomes(
  batch: TenantBatch,
  known: Map<string, StoredEvent>,
  append?: LogAppend & Pick<TenantBatch, 'events'>,
): Appended[] {
  const { events: fresh = [], leaves = [], receivedUs = 0 } = append ?? {};
  const receivedAtMs = receivedUs / 1_000;
  if (fresh.length === batch.events.length)
    return leaves.map((leaf) => ({ status: 'created', receivedAtMs, ...leaf }));
  const created = new Map(fresh.map((event, index) => [event, leaves[index]]));
  const firsts = new Map(fresh.map((event) => [event.uuid, event]));
  return batch.events.map((event): Appended => {
    const leaf = created.get(event);
    if (leaf) return { status: 'created', receivedAtMs, ...leaf };
    const first = firsts.get(event.uuid);
    const sequence = first ? created.get(first)?.sequence : undefined;
    const stored =
      first && sequence !== undefined
        ? { ...first, sequence, receivedAtMs }
        : known.get(keyOf(event));
    return stored ? asRepeat(event, stored) : { status: 'conflict' };
  });
}

/** The retention class of an event that is recorded now. An id that is late stays late. */
export function classOf(head: LogHead, { uuid }: { uuid: string }, nowMs: number): number {
  const receivedMs = receivedUsOf(head, nowMs) / 1_000;
  return isLate(uuidTimeMs(uuid), receivedMs) ? lateClass : head.retentionClass;
}

/**
 * Stored events of these ids, by `tenant/uuid`, each in one retention class: with tenant, class and
 * id, every look-up uses one partition.
 */
async function findStored(
  tx: WriterTx,
  keys: readonly { event: CommittedEvent; retentionClass: number }[],
): Promise<Map<string, StoredEvent>> {
  const { rows } = await tx.query<StoredEvent>({
    name: 'find-stored',
    text: `SELECT ${storedColumns}, before, after FROM unnest($1::uuid[], $2::uuid[], $3::int2[]) AS wanted (t, i, c)
      JOIN audit_events ON tenant_id = t AND retention_class = c AND id = i`,
    values: [
      uuidArray(keys.map(({ event }) => event.tenantId)),
      uuidArray(keys.map(({ event }) => event.uuid)),
      int2Array(keys.map(({ retentionClass }) => retentionClass)),
    ],
  });
  return new Map(rows.map((row) => [keyOf(row), row]));
}
