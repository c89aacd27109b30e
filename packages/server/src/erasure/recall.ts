import { actorAddress, nilUuid, only, personIds } from '@indelible/protocol';
import { classAndMark } from '../archive/store.ts';
import { coldCount, coldEventsById, coldPages, coldRange } from '../events/cold.store.ts';
import { insertEvents } from '../events/event-columns.store.ts';
import type { Visibility } from '../events/filter-sql.store.ts';
import type { ListedRow } from '../events/listed-row.ts';
import { partitionsOf } from '../events/partitions.ts';
import { type ColdSource, type OwnerSession, type Queries, tenantIn } from '../postgres/db.ts';
import { announcePartitions, makePartitions } from '../postgres/partitions.store.ts';
import { storedAmong } from '../words/store.ts';

/*
 * Erasure reads and empties rows. Before it, the rows of the events that it concerns come back from
 * the archive. No reader sees them, because they are below the mark; the next archive run deletes
 * them again.
 */

const everything = {
  ...{ classes: [], oldest: nilUuid, size: Number.MAX_SAFE_INTEGER },
  newestMs: Number.POSITIVE_INFINITY,
};

interface Recall {
  visible: Visibility;
  retentionClass: number;
}

async function recallOf(
  owner: Queries,
  cold: ColdSource,
  tenantId: string,
): Promise<Recall | null> {
  const found = await classAndMark(owner, tenantId);
  if (found === null || found.coldBefore === null) return null;
  const tx = { ...tenantIn(owner, tenantId), cold };
  const { retentionClass, coldBefore } = found;
  return { visible: { ...everything, tx, coldBefore }, retentionClass };
}

/** Brings back the events of a person, by id or address, and of all ids that used the address. */
export async function recallPerson(
  owner: OwnerSession,
  cold: ColdSource,
  tenantId: string,
  person: string,
): Promise<void> {
  const recall = await recallOf(owner, cold, tenantId);
  if (recall === null) return;
  const ids = new Set([person]);
  for (const value of ids) {
    for (const facet of ['user', 'onBehalfOf'] as const) {
      const filter = { [facet]: only(value) };
      for await (const rows of coldPages(recall.visible, filter)) {
        await bringBack(owner, recall, rows);
        if (value.includes('@')) for (const id of rows.flatMap(idsWith(value))) ids.add(id);
      }
    }
  }
}

/** The ids of the people who have this address in an event; ids of others do no harm. */
const idsWith = (address: string) => (row: ListedRow) => {
  const ids = actorAddress(row) === address ? [row.actorId] : personIds(row).slice(1);
  return ids.filter((id) => id !== nilUuid);
};

export async function recallEvents(
  owner: OwnerSession,
  cold: ColdSource,
  tenantId: string,
  uuids: readonly string[],
): Promise<void> {
  const recall = await recallOf(owner, cold, tenantId);
  if (recall === null) return;
  for await (const rows of coldEventsById(uuids, recall.visible))
    await bringBack(owner, recall, rows);
}

/** How many events of the tenant are in the archive alone. */
export async function countCold(tx: Queries, cold: ColdSource, tenantId: string): Promise<number> {
  const recall = await recallOf(tx, cold, tenantId);
  const range = recall && coldRange(recall.visible);
  if (recall === null || range === null) return 0;
  const all = { filter: {}, range };
  return coldCount(recall.visible, all, Number.MAX_SAFE_INTEGER);
}

async function bringBack(
  owner: OwnerSession,
  { visible, retentionClass }: Recall,
  rows: readonly ListedRow[],
): Promise<void> {
  if (rows.length === 0) return;
  const wanted = partitionsOf(rows.map(({ uuid }) => ({ uuid, retentionClass })));
  await owner.transaction((tx) => makePartitions(tx, wanted));
  await announcePartitions(owner);
  await owner.transaction(async (tx) => {
    const uuids = rows.map(({ uuid }) => uuid);
    const stored = await storedAmong(tx, visible.tx.tenantId, uuids);
    const gone = rows.filter(({ uuid }) => !stored.has(uuid));
    await insertEvents(
      tx,
      gone.map((row) => ({
        ...{ event: row, retentionClass, sequence: row.sequence },
        ...{ receivedAtUs: row.receivedAtMs * 1_000, salts: row.salts, erased: row.erased ?? null },
      })),
    );
  });
}
