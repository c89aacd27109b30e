import {
  type CommittedEvent,
  contextOf,
  firstUuidAt,
  lateClass,
  type Sha256,
} from '@indelible/protocol';
import { AppError } from '../http/problem.ts';
import {
  headAfter,
  type LogAppend,
  type LogHead,
  planAppend,
  type Remembered,
  recordLogs,
} from '../log/store.ts';
import type { Queries, TenantTx, WriterTx } from '../postgres/db.ts';
import { isSharded } from '../postgres/engine.ts';
import { int2Array, uuidArray } from '../postgres/pg-arrays.ts';
import type { Commit } from '../postgres/transaction.ts';
import { shownFrom } from '../tenants/plans.store.ts';
import { classOf } from './class-of.ts';
import { coldEventsById } from './cold.store.ts';
import { eventColumns, type InsertedRow, storedColumns } from './event-columns.store.ts';
import { shownSince, type Visibility } from './filter-sql.store.ts';
import { type PreparedEvent, type StoredEvent, sameContent } from './prepared-event.ts';

export { insertEvents, storedColumns } from './event-columns.store.ts';
export {
  erasedSegments,
  eventJson,
  hasState,
  openersOf,
  type StoredEvent,
  storedEntry,
  storedOpeners,
} from './prepared-event.ts';

/** The outcome of one event of a batch, in the given order. */
export type Appended =
  | { status: 'created'; sequence: number; receivedAtMs: number; leafHash: Uint8Array }
  | { status: 'duplicate'; stored: StoredEvent }
  | { status: 'conflict' };

/** A transaction that was committed at once has written nothing, and must be repeated. */
export class RepeatedId extends Error {}

/** The same: a remembered head is not the stored one, or is not enough. */
export class HeadsMoved extends Error {}

/** The events of one tenant to append, with its locked or remembered head. */
export interface TenantBatch {
  head: LogHead;
  events: readonly PreparedEvent[];
}

export interface AppendedBatch {
  outcomes: Appended[];
  /** The head that it leaves; null if nothing was new. */
  grown: LogHead | null;
}

/**
 * Appends events to their tenants' logs in `tx`. Assumes that all ids are new, because most batches
 * repeat none: a call inserts and appends, and all are undone if one finds a repeated id. Answers
 * null for a batch whose head was only read, and has grown since or is locked. With `commit` it
 * commits at once, and throws RepeatedId, having written nothing, if an id is repeated. With
 * `remembered` heads each batch has an event, and it throws HeadsMoved if one of them is not the
 * stored head, or an event is a late repeat.
 */
export async function appendEvents(
  tx: WriterTx,
  sha: Sha256,
  batches: readonly TenantBatch[],
  nowMs: number,
  commit?: Commit,
  remembered?: Remembered,
): Promise<(AppendedBatch | null)[]> {
  const known = await storedElsewhere(tx, batches, nowMs);
  // What a repeat is answered depends on its head, and no head is compared that gets no event.
  if (remembered && known.size > 0) throw new HeadsMoved();
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
    const columnsOf = (own: Parameters<typeof rowsIn>[0]) => eventColumns(rowsIn(own));
    const inserted = recordLogs(tx, grown, columnsOf, remembered);
    // On a cluster the savepoint may be what meets a lost node, also with nothing to insert.
    const [recorded] = await Promise.all([inserted, saved, mustUndo ? undefined : commit?.()]);
    if (remembered && recorded[0]?.stored == null) throw new HeadsMoved();
    const passed = new Set(recorded.flatMap(({ home, stored }) => (stored === null ? home : [])));
    const isNew = recorded.every(({ stored }) => stored !== 0);
    const moved = isNew ? await storedElsewhere(tx, fresh.filter(mayMove), nowMs) : null;
    if (moved?.size === 0)
      return batches.map((batch, b) =>
        passed.has(batch.head.tenantId) ? null : appended(batch, known, appends[b]),
      );
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
export function asRepeat(event: PreparedEvent, stored: StoredEvent): Appended {
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

function appended(
  batch: TenantBatch,
  known: Map<string, StoredEvent>,
  append?: LogAppend & Pick<TenantBatch, 'events'>,
): AppendedBatch {
  const grown = append && append.leaves.length > 0 ? headAfter(append) : null;
  return { outcomes: outcomes(batch, known, append), grown };
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

/**
 * Makes the partitions of these times; existing ones stay. In its own transaction, because they
 * must exist before the insert.
 */
export async function makePartitions(
  tx: WriterTx,
  wanted: readonly { retentionClass: number; timeMs: number }[],
) {
  for (const { retentionClass, timeMs } of wanted) {
    await tx.query('SELECT make_partition($1::smallint, $2)', [retentionClass, new Date(timeMs)]);
  }
}

/** Makes or attaches the partition of this time. */
export async function ensurePartition(
  owner: Queries,
  retentionClass: number,
  timeMs: number,
): Promise<void> {
  await owner.query('SELECT place_partition($1::smallint, $2)', [retentionClass, new Date(timeMs)]);
}

/** One event with its states, or null if it is unknown or the plan does not show it. */
export async function getEvent(
  tx: TenantTx,
  uuid: string,
  visible: Pick<Visibility, 'classes' | 'oldest' | 'coldBefore'>,
): Promise<StoredEvent | null> {
  const { classes, oldest } = visible;
  // Class by class, usually one: `= ANY` on the class prunes no partitions, and reading a few
  // hundred takes 5 ms.
  for (const retentionClass of classes) {
    const { rows } = await tx.query<StoredEvent>({
      name: 'get-event',
      text: `SELECT ${storedColumns}, before, after FROM audit_events
        WHERE tenant_id = $1 AND retention_class = $2 AND id = $3
          AND (id >= $4 OR received_at >= $5)`,
      values: [tx.tenantId, retentionClass, uuid, oldest, shownSince({ oldest })],
    });
    if (rows[0]) return rows[0];
  }
  for await (const [event] of coldEventsById(tx, [uuid], visible)) return event ?? null;
  return null;
}

/** What the tenant's current plan shows; null for an unknown tenant. */
export async function visibility(tx: TenantTx, nowMs: number): Promise<Visibility | null> {
  const { rows } = await tx.query<{
    days: number;
    years: number;
    legalHold: boolean;
    current: number;
    others: number[];
    size: number;
    coldBefore: string | null;
    newestMs: number;
  }>({
    name: 'visibility',
    text: `SELECT days, years, legal_hold AS "legalHold", retention_class AS current, other_classes AS others,
        size, cold_before AS "coldBefore", last_received_us / 1000 AS "newestMs"
      FROM tenants JOIN plans ON plans.name = plan JOIN log_heads ON tenant_id = id WHERE id = $1`,
    values: [tx.tenantId],
  });
  const [row] = rows;
  if (!row) return null;
  const oldest = firstUuidAt(shownFrom(row, nowMs) ?? 0);
  return {
    classes: [row.current, ...row.others],
    oldest,
    size: row.size,
    coldBefore: row.coldBefore,
    newestMs: row.newestMs,
  };
}

/** The same. Throws `not_found` for an unknown tenant. */
export async function requireVisible(tx: TenantTx, nowMs: number): Promise<Visibility> {
  const visible = await visibility(tx, nowMs);
  if (visible) return visible;
  throw new AppError('not_found', 'there is no such tenant');
}

/** Id of this installation, the recorder of the service's own events. */
export async function readServiceId(writer: Queries): Promise<string> {
  const { rows } = await writer.query<{ id: string }>('SELECT id FROM installation');
  if (!rows[0]) throw new Error('the database is not migrated; run `indelible migrate`');
  return rows[0].id;
}
