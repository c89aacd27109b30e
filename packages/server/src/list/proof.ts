import {
  actorAddress,
  type EventFilter,
  formatHex,
  identityMembers,
  inclusionProof,
  type ListQuery,
  leafHash,
  type SegmentHex,
  type Sha256,
  segmentNames,
} from '@indelible/protocol';
import { searchCopies } from '../events/event-columns.store.ts';
import type { Visibility } from '../events/filter-sql.store.ts';
import type { ListedPage, ListedRow } from '../events/listed-row.ts';
import {
  eventJson,
  hasState,
  openersOf,
  type StoredEvent,
  storedEntry,
} from '../events/prepared-event.ts';
import { getEvent, visibility } from '../events/store.ts';
import { AppError, unavailable } from '../http/problem.ts';
import { type PublishedCheckpoint, publishedCheckpoint } from '../log/checkpoint.store.ts';
import { unreadable } from '../log/entries.store.ts';
import { treeNodes } from '../log/tree.store.ts';
import type { Parts } from '../parts.ts';
import { readTenant, type TenantTx } from '../postgres/db.ts';
import { listEvents } from './list.store.ts';

export type ProofDeps = Pick<Parts, 'db' | 'sha' | 'now' | 'publishCheckpoint'>;

export interface Proven {
  event: StoredEvent;
  checkpoint: PublishedCheckpoint;
  path: Uint8Array[];
}

/** Throws `not_found`, and `unavailable` if no checkpoint covers the event yet. */
export async function proveEvent(
  deps: ProofDeps,
  tenantId: string,
  uuid: string | null,
): Promise<Proven> {
  const read = () => readTenant(deps.db, tenantId, (tx) => prove(tx, uuid, deps));
  // For an event after the last checkpoint the service signs a new one.
  const proven = (await read()) ?? (await deps.publishCheckpoint().then(read));
  if (proven === null) throw unavailable('no checkpoint covers this event yet; try again');
  return proven;
}

/** Null if no released checkpoint covers the event yet. */
async function prove(
  tx: TenantTx,
  uuid: string | null,
  { sha, now }: ProofDeps,
): Promise<Proven | null> {
  // In parallel.
  const [visible, log] = await Promise.all([visibility(tx, now()), publishedCheckpoint(tx)]);
  const event = visible && uuid && (await getEvent(uuid, visible));
  if (!event) throw new AppError('not_found', 'there is no such event');
  const checkpoint = log?.checkpoint ?? null;
  if (event.sequence < 0) throw unreadable('an event has no entry in its log', tx.tenantId);
  if (checkpoint === null || checkpoint.size <= event.sequence) return null;
  const path = await inclusionProof(sha, treeNodes(tx, sha), event.sequence, checkpoint.size);
  return { event, checkpoint, path };
}

export function proofJson({ event, checkpoint, path }: Proven, sha: Sha256): string {
  const { entry, commitment } = storedEntry(sha, event);
  const rest = {
    receivedAt: new Date(event.receivedAtMs).toISOString(),
    ...openingOf(event),
    commitment: formatHex(commitment),
    leafHash: formatHex(leafHash(sha, entry)),
    sequence: event.sequence,
    checkpoint: checkpoint.note,
    path: path.map(formatHex),
  };
  return `{"event":${fullJson(event)},${JSON.stringify(rest).slice(1)}`;
}

// Erased segments appear as hashes: a body contains no unproven member.
const fullJson = (event: StoredEvent) =>
  eventJson({ ...event, erased: null }, true, hasState(event));

/** For each segment its salt, which gives the hash with the text; for an erased one the hash. */
function openingOf(event: StoredEvent): {
  salts: SegmentHex;
  hashes?: SegmentHex;
  identityMembers?: string[] | undefined;
} {
  const { salts, hashes } = openersOf(event);
  const byName = (list: readonly (Uint8Array | null)[]): SegmentHex =>
    Object.fromEntries(
      segmentNames.flatMap((name, index) => {
        const bytes = list[index];
        return bytes ? [[name, formatHex(bytes)]] : [];
      }),
    );
  const isWhole = hashes.every((hash) => hash === null);
  return {
    salts: byName(salts),
    ...(isWhole ? {} : { hashes: byName(hashes) }),
    identityMembers: identityMembers(event),
  };
}

/** An event with its salts, a line of NDJSON without its end. */
export function bodyLine(row: ListedRow): string {
  return `{"event":${fullJson(asFound(row))},${JSON.stringify(openingOf(row)).slice(1)}`;
}

/**
 * Searches use copies of some values that no proof covers. If they differ, both are shown as the
 * address: then the body does not match its entry, no matter which of them was changed.
 */
function asFound(row: ListedRow): StoredEvent {
  const expected = { emailKey: actorAddress(row), ...searchCopies(row) };
  const found = JSON.stringify(row, Object.keys(expected));
  if (found === JSON.stringify(expected)) return row;
  return { ...row, actorEmail: `${row.actorEmail ?? ''} (found as ${found})` };
}

const bodiesPerPage = 2_000;

/** The next events behind this id in order of id, with states. */
export function readBodies(
  visible: Visibility,
  after: string | null,
  { filter = {}, limit = bodiesPerPage }: { filter?: EventFilter; limit?: number } = {},
): Promise<ListedPage> {
  const query: ListQuery = {
    filter,
    sort: 'timestamp',
    order: 'asc',
    limit,
    include: { total: false, state: true },
  };
  const position =
    after === null ? null : { direction: 'next' as const, uuid: after, emailKey: '', sequence: 0 };
  return listEvents(query, visible, position);
}
