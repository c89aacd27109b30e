import {
  actorAddress,
  type EventFilter,
  eventIdFromUuid,
  eventMatches,
  firstUuidAt,
  uuidBytes,
  uuidFromBytes,
  uuidFromEventId,
} from '@indelible/protocol';
import type { ArchivedRow } from '../cold/archived-row.ts';
import { coldEvents, longBytes } from '../cold/cold-events.store.ts';
import { type ColdPart, type ColdRange, partsHolding } from '../cold/store.ts';
import type { TenantTx } from '../postgres/db.ts';
import {
  type ColdMatches,
  ColdParams,
  conditionsOf,
  needsIdentity,
  readParts,
} from './cold-sql.store.ts';
import { searchCopies } from './event-columns.store.ts';
import { lowestShown, shownSince, type Visibility } from './filter-sql.store.ts';
import { type ListedRow, shownOf } from './listed-row.ts';
import { hasState, storedOpeners } from './prepared-event.ts';

/* Events that have left PostgreSQL, as DuckDB reads them from verified parts of the archive. */

/** Which events are wanted, in which order. */
export interface ColdQuery extends ColdMatches {
  descending: boolean;
  /** In the order of addresses, from behind this event on. */
  byUser?: { behind: { emailKey: string; uuid: string } | null };
}

export interface ColdKey {
  uuid: string;
  /** In lower case; only in the order of addresses. */
  emailKey: string;
  sequence: number;
  part: ColdPart;
}

/** The ids that are read from the archive and shown; null: none of them match. */
export function coldRange(
  visible: Pick<Visibility, 'classes' | 'oldest' | 'coldBefore'>,
  { from = 0, to }: EventFilter = {},
  bounds: { from?: string; before?: string | null } = {},
): ColdRange | null {
  const { oldest, coldBefore } = visible;
  if (coldBefore === null) return null;
  const lowest = lowestShown({ classes: [], oldest });
  const range = {
    from: [lowest, firstUuidAt(from), bounds.from ?? ''].sort().at(-1) ?? lowest,
    before:
      [coldBefore, to === undefined ? coldBefore : firstUuidAt(to), bounds.before ?? coldBefore]
        .sort()
        .at(0) ?? coldBefore,
  };
  return range.from < range.before ? range : null;
}

type Key = Pick<ColdKey, 'uuid' | 'emailKey'>;

/** PostgreSQL and DuckDB compare addresses by their bytes. */
export const compareAddresses = (a: string, b: string) => Buffer.from(a).compare(Buffer.from(b));

export function orderOfKeys(byUser: boolean, descending: boolean): (a: Key, b: Key) => number {
  const sign = descending ? -1 : 1;
  return (a, b) => {
    const byEmail = byUser ? compareAddresses(a.emailKey, b.emailKey) : 0;
    if (byEmail !== 0) return sign * byEmail;
    return a.uuid === b.uuid ? 0 : a.uuid < b.uuid ? -sign : sign;
  };
}

/** The keys of the first `limit` matches. */
export async function coldKeys(
  visible: Visibility,
  query: ColdQuery,
  limit: number,
): Promise<ColdKey[]> {
  const { filter, range, descending, byUser } = query;
  const inOrder = orderOfKeys(byUser !== undefined, descending);
  const parts = await partsHolding(visible.tx, range, filter);
  if (descending) parts.sort((a, b) => (a.highest > b.highest ? -1 : 1));
  else parts.sort((a, b) => (a.lowest < b.lowest ? -1 : 1));
  let keys: ColdKey[] = [];
  for (const part of parts) {
    const last = keys.length === limit ? keys.at(-1) : undefined;
    const isBehind = (uuid: string) => (descending ? part.highest < uuid : part.lowest > uuid);
    if (last !== undefined && !byUser && isBehind(last.uuid)) break;
    keys.push(...(await keysOf(visible, query, part, limit)));
    keys.sort(inOrder);
    keys = keys.slice(0, limit);
  }
  return keys;
}

async function keysOf(
  visible: Visibility,
  query: ColdQuery,
  part: ColdPart,
  limit: number,
): Promise<ColdKey[]> {
  const { descending, byUser } = query;
  const way = descending ? 'DESC' : 'ASC';
  const params = new ColdParams();
  const conditions = conditionsOf(visible, query, [part], params);
  if (byUser?.behind) {
    const { emailKey, uuid } = byUser.behind;
    const sign = descending ? '<' : '>';
    const id = params.add(eventIdFromUuid(uuid));
    const email = params.add(emailKey);
    conditions.push(
      `(actor_email_key ${sign} ${email} OR actor_email_key = ${email} AND id ${sign} ${id})`,
    );
  }
  const columns = byUser ? 'actor_email_key' : `''`;
  const rows = await readParts(
    visible.tx,
    [part],
    needsIdentity(query.filter) || byUser !== undefined,
    params,
    (from) =>
      `SELECT id, sequence, ${columns} FROM ${from} WHERE ${conditions.join(' AND ')}
     ORDER BY ${byUser ? `actor_email_key ${way}, ` : ''}id ${way} LIMIT ${Number(limit)}`,
  );
  return rows.map(([id, sequence, emailKey]) => ({
    uuid: uuidOf(id),
    sequence: Number(sequence),
    emailKey: String(emailKey),
    part,
  }));
}

/** The number of matches, counted to about `max`. */
export async function coldCount(
  visible: Visibility,
  query: ColdMatches,
  max: number,
): Promise<number> {
  const parts = await partsHolding(visible.tx, query.range, query.filter);
  let count = 0;
  for (let at = 0; at < parts.length && count < max; at += partsAtOnce) {
    const params = new ColdParams();
    const some = parts.slice(at, at + partsAtOnce);
    const conditions = conditionsOf(visible, query, some, params);
    const [[found] = []] = await readParts(
      visible.tx,
      some,
      needsIdentity(query.filter),
      params,
      (from) => `SELECT count(*) FROM ${from} WHERE ${conditions.join(' AND ')}`,
    );
    count += Number(found);
  }
  return Math.min(count, max);
}

const partsAtOnce = 8;

/** A group of `countGroups`; times as milliseconds. */
export interface ColdGroup {
  keys: unknown[];
  /** Id and address of the last event with an address, joined. */
  lastEmail: string | null;
  count: number;
}

/** Counts by these columns; a null column stands for the start of a slot of `slotMs`. */
export async function* coldGroups(
  visible: Visibility,
  {
    filter,
    range,
    columns,
    withEmail,
    slotMs,
  }: ColdMatches & {
    columns: readonly (string | null)[];
    withEmail: boolean;
    slotMs: number;
  },
): AsyncGenerator<ColdGroup> {
  const isPersonal = withEmail || needsIdentity(filter);
  const keys = columns.map(
    (column) => column ?? `epoch_ms("timestamp") // ${Number(slotMs)} * ${Number(slotMs)}`,
  );
  const email = withEmail ? 'max(id || actor_email)' : 'NULL';
  for (const part of await partsHolding(visible.tx, range, filter)) {
    const params = new ColdParams();
    const conditions = conditionsOf(visible, { filter, range }, [part], params);
    const rows = await readParts(
      visible.tx,
      [part],
      isPersonal,
      params,
      (from) =>
        `SELECT ${keys[0]}, ${keys[1] ?? 'NULL'}, ${email}, count(*) FROM ${from}
       WHERE ${conditions.join(' AND ')} GROUP BY 1, 2`,
    );
    for (const [k1, k2, last, count] of rows) {
      const text = typeof last === 'string' ? last : null;
      const lastEmail = text && uuidOf(text.slice(0, idLength)) + text.slice(idLength);
      yield { keys: [k1, k2].slice(0, columns.length), lastEmail, count: Number(count) };
    }
  }
}

const idLength = eventIdFromUuid('00000000-0000-0000-0000-000000000000').length;

/** The events of these keys, in their order, without those of more than `bytesMax`. */
export async function coldRows(
  tx: TenantTx,
  keys: readonly ColdKey[],
  bytesMax?: number,
): Promise<ListedRow[]> {
  const rows = new Map<number, ListedRow>();
  for await (const page of pagesOfKeys(tx, keys, bytesMax))
    for (const row of page) rows.set(row.sequence, row);
  return keys.flatMap(({ sequence }) => rows.get(sequence) ?? []);
}

/** The same, part by part, in pages of a few MiB. */
async function* pagesOfKeys(
  tx: TenantTx,
  keys: readonly ColdKey[],
  bytesMax?: number,
): AsyncGenerator<ListedRow[]> {
  const also = bytesMax === undefined ? 'true' : `${longBytes} <= ${Number(bytesMax)}`;
  for (const [part, some] of Map.groupBy(keys, ({ part }) => part)) {
    const sequences = some.map(({ sequence }) => sequence);
    for await (const rows of coldEvents(tx, part, { sequences }, { also }))
      yield rows.map(listedRow);
  }
}

/** All archived events that match, in pages of a few MiB. */
export async function* coldPages(
  visible: Visibility,
  filter: EventFilter,
): AsyncGenerator<ListedRow[]> {
  for (let range = coldRange(visible, filter); range !== null; ) {
    const query = { filter, range, descending: false };
    const keys: ColdKey[] = await coldKeys(visible, query, rowsPerPage);
    yield* pagesOfKeys(visible.tx, keys);
    const last = keys.length === rowsPerPage ? keys.at(-1) : undefined;
    range = last ? coldRange(visible, filter, { from: nextUuid(last.uuid) }) : null;
  }
}

const rowsPerPage = 500;

export function nextUuid(uuid: string): string {
  const bytes = uuidBytes(uuid);
  for (let at = bytes.length - 1; at >= 0; at -= 1) {
    bytes[at] = ((bytes[at] ?? 0) + 1) & 255;
    if (bytes[at] !== 0) break;
  }
  return uuidFromBytes(bytes);
}

/**
 * The events of these ids that are read from the archive and shown, in the order of the log, in
 * pages of a few MiB.
 */
export async function* coldEventsById(
  uuids: readonly string[],
  visible: Visibility,
  filter: EventFilter = {},
  descending = false,
): AsyncGenerator<ListedRow[]> {
  const range = coldRange(visible);
  const wanted = range ? uuids.filter((each) => each >= range.from && each < range.before) : [];
  const sorted = wanted.toSorted();
  const [lowest, highest] = [sorted[0], sorted.at(-1)];
  if (range === null || lowest === undefined || highest === undefined) return;
  const parts = await partsHolding(visible.tx, { from: lowest, before: nextUuid(highest) });
  for (const part of descending ? parts.toReversed() : parts) {
    const inside = sorted.filter((each) => each >= part.lowest && each <= part.highest);
    if (inside.length === 0) continue;
    for await (const page of coldEvents(visible.tx, part, { uuids: inside }, { descending })) {
      const rows = page.map(listedRow).filter((row) => isShown(row, visible));
      yield rows.filter((row) => eventMatches(shownOf(row), filter));
    }
  }
}

function isShown(
  { uuid, receivedAtMs }: ListedRow,
  { oldest }: Pick<Visibility, 'oldest'>,
): boolean {
  return uuid >= oldest || receivedAtMs >= shownSince({ oldest }).getTime();
}

/** An event as PostgreSQL lists it, with its states. */
function listedRow({ sequence, receivedAtUs, body }: ArchivedRow): ListedRow {
  if (body === null) throw new Error('a row of the archive has no event');
  const { event, salts, hashes } = body;
  const stored = {
    ...event,
    ...{ sequence, receivedAtMs: Math.floor(receivedAtUs / 1_000) },
    ...storedOpeners({ salts, hashes }),
  };
  const emailKey = actorAddress(event);
  return { ...stored, hasState: hasState(stored), emailKey, ...searchCopies(event) };
}

function uuidOf(id: unknown): string {
  const uuid = uuidFromEventId(String(id));
  if (uuid === null) throw new Error('a row of the archive has no event id');
  return uuid;
}
