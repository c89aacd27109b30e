import type { EventInput } from '../api-types.ts';
import { type BatchClient, deliverBatch, type Memory } from '../delivery/deliver-batch.ts';
import type { Trouble } from '../delivery/failure.ts';
import { eventOf } from '../delivery/ready-event.ts';
import type { IndelibleError } from '../http/errors.ts';
import {
  type DueRow,
  dueRows,
  markRejected,
  numberRows,
  type OutboxRow,
  type OutboxTable,
  type Query,
  readRows,
  removeRows,
} from './store.ts';

/*
 * Numbers are given out at the insert, but rows are seen at the commit, and these differ:
 *
 *   time   transaction A           transaction B           relay
 *    1     INSERT, gets id 5
 *    2                             INSERT, gets id 6
 *    3                             COMMIT
 *    4                                                     sees 6 alone, sends and deletes it
 *    5     COMMIT
 *    6                                                     sees 5, sends and deletes it
 *
 * A relay that remembered "sent up to 6" would never see 5. This one remembers nothing between
 * sweeps: what is in the table is unsent, so no row can be skipped.
 *
 * Events are sent in causal order: an event whose transaction was committed before another event
 * was inserted has the lower id, and every snapshot that shows the other one shows it too. All ids
 * of a sweep come from one statement, so from one snapshot, and it is sent first. (Waiting for
 * `pg_snapshot_xmin` would order by when transactions began to write, which reverses such pairs,
 * and one long transaction anywhere in the cluster would delay every event.)
 */

/** The most ids of one snapshot; bounds the memory, together with one batch. */
const rowsMax = 20_000;
// Below the 8 MiB of a call, and small enough to hold in memory.
const batchBytesMax = 4 * 2 ** 20;

export interface SweepOptions {
  query: Query;
  table: OutboxTable;
  client: BatchClient;
  memory: Memory;
  batchMax: number;
  heldTenants: readonly string[];
  onRejected: (event: EventInput, error: IndelibleError) => void;
  isStopped: () => boolean;
}

export interface Sweep {
  /** Time that the database needed to find due rows. */
  lookMs: number;
  /** Whether the snapshot had no further row of a tenant that is not held. */
  reachedEnd: boolean;
  trouble: Trouble | null;
  /** Tenants with a row to be sent again: their later rows must not overtake it. */
  heldTenants: Set<string>;
}

/** Sends the due rows of one snapshot, batch by batch. Throws errors of the database. */
export async function sweepOutbox(options: SweepOptions): Promise<Sweep> {
  const { query, table, heldTenants, isStopped } = options;
  const begunMs = performance.now();
  const due = await dueRows(query, table, rowsMax, heldTenants);
  const lookMs = performance.now() - begunMs;
  const reachedEnd = due.length < rowsMax;
  const sweep: Sweep = { lookMs, reachedEnd, trouble: null, heldTenants: new Set() };
  for (const ids of batchesOf(due, sweep, options)) {
    if (isStopped()) return { ...sweep, reachedEnd: false };
    await numberRows(query, table, ids);
    const rows = await readRows(query, table, ids);
    await sendRows(rows, sweep, options);
    if (sweep.trouble?.scope === 'all') return { ...sweep, reachedEnd: false };
  }
  return sweep;
}

/**
 * Splits by number and bytes; a row larger than a batch is sent alone. Each batch is made after the
 * previous one was sent, so that it has no row of a tenant held since.
 */
function* batchesOf(
  due: readonly DueRow[],
  { heldTenants }: Sweep,
  { batchMax }: SweepOptions,
): Generator<string[]> {
  let ids: string[] = [];
  let bytes = 0;
  for (const row of due) {
    if (ids.length > 0 && (ids.length === batchMax || bytes + row.bytes > batchBytesMax)) {
      yield ids;
      [ids, bytes] = [[], 0];
    }
    if (heldTenants.has(row.tenantId)) continue;
    ids.push(row.id);
    bytes += row.bytes;
  }
  if (ids.length > 0) yield ids;
}

/**
 * Sends rows and settles each by the service's answer. If killed before that, the next sweep sends
 * them again with the same ids, and the service stores nothing twice.
 */
async function sendRows(
  rows: readonly OutboxRow[],
  sweep: Sweep,
  { query, table, client, memory, onRejected }: SweepOptions,
): Promise<void> {
  if (rows.length === 0) return;
  const texts = rows.map(({ text }) => text);
  const { outcomes, trouble } = await deliverBatch(client, texts, memory);
  const stored: string[] = [];
  const rejected: { row: OutboxRow; error: IndelibleError }[] = [];
  for (const [index, row] of rows.entries()) {
    const outcome = outcomes[index];
    if (outcome?.status === 'stored') stored.push(row.id);
    else if (outcome?.status === 'rejected') rejected.push({ row, error: outcome.error });
    else sweep.heldTenants.add(row.tenantId);
  }
  await markRejected(
    query,
    table,
    rejected.map(({ row, error }) => ({ id: row.id, code: error.code, reason: reasonOf(error) })),
  );
  // At once: marked rows are not read again, so a failure below would leave them untold.
  for (const { row, error } of rejected) {
    onRejected({ ...eventOf(row.text), id: row.eventId } as EventInput, error);
  }
  await removeRows(query, table, stored);
  if (sweep.trouble?.scope !== 'all') sweep.trouble = trouble ?? sweep.trouble;
}

/** For people who inspect the table. PostgreSQL refuses U+0000, and the answer is untrusted. */
const reasonOf = ({ message }: IndelibleError) => message.replaceAll('\0', '');
