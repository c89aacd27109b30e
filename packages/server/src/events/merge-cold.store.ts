import { type ListQuery, longFields } from '@indelible/protocol';
import type { ColdRange } from '../cold/store.ts';
import {
  type ColdKey,
  coldEventsById,
  coldKeys,
  coldRange,
  coldRows,
  nextUuid,
  orderOfKeys,
} from './cold.store.ts';
import type { SqlFilter, Visibility } from './filter-sql.store.ts';
import type { ListPosition } from './list-cursor.ts';
import type { CutPage, ListedRow } from './listed-row.ts';

/** A page of a list, as PostgreSQL and the archive are asked for it. */
export interface WantedPage {
  query: ListQuery & { filter: SqlFilter };
  descending: boolean;
  position: ListPosition | null;
  bytesMax: number;
}

type Key = Pick<ColdKey, 'uuid' | 'emailKey'>;

/** The archived ids that may be on the page; null: PostgreSQL has the whole page. */
export function coldRangeOf(
  visible: Visibility,
  { query: { filter, sort }, descending, position }: WantedPage,
): ColdRange | null {
  if (position === null || sort === 'user') return coldRange(visible, filter);
  const bounds = descending ? { before: position.uuid } : { from: nextUuid(position.uuid) };
  return coldRange(visible, filter, bounds);
}

/** Whether this page is full of events that come before every archived one. */
export function isBeforeCold(
  { rows, more }: CutPage,
  wanted: WantedPage,
  range: ColdRange,
): boolean {
  const last = rows.at(-1);
  if (last === undefined || !(more || rows.length === wanted.query.limit)) return false;
  return isAheadOfCold(last, wanted, range);
}

/** Whether an event comes before every archived one. */
export function isAheadOfCold(
  { uuid }: Pick<Key, 'uuid'>,
  { query: { sort }, descending }: WantedPage,
  { before }: ColdRange,
): boolean {
  return sort !== 'user' && descending && uuid >= before;
}

/** The page of both: PostgreSQL's part of it and the archive's are in the same order. */
export async function withCold(
  visible: Visibility,
  wanted: WantedPage,
  range: ColdRange,
  hot: CutPage,
): Promise<CutPage> {
  const cold = await coldPage(visible, wanted, range);
  const ahead = aheadIn(wanted);
  // What comes behind the end of a part that has more may come behind events that are not read.
  const ends = [hot, cold].flatMap(({ rows, more }) => (more ? (rows.at(-1) ?? []) : []));
  const [end] = ends.toSorted(ahead);
  const merged = [...hot.rows, ...cold.rows].sort(ahead);
  const inside = merged.filter((row) => end === undefined || ahead(row, end) <= 0);
  const { rows, bytes } = cut(inside, wanted);
  return { rows, bytes, more: end !== undefined || rows.length < merged.length };
}

async function coldPage(
  visible: Visibility,
  wanted: WantedPage,
  range: ColdRange,
): Promise<Omit<CutPage, 'bytes'>> {
  const { limit } = wanted.query;
  const keys = await keysOf(visible, wanted, range, limit + 1);
  const rows: ListedRow[] = [];
  for (let at = 0; at < Math.min(limit, keys.length); at += rowsAtOnce) {
    rows.push(...(await coldRows(visible.tx, keys.slice(at, Math.min(at + rowsAtOnce, limit)))));
    if (cut(rows, wanted).rows.length < rows.length) break;
  }
  return { rows, more: rows.length < keys.length };
}

/** Events may have 600 KiB each. */
const rowsAtOnce = 100;

function keysOf(
  visible: Visibility,
  { query: { filter, sort }, descending, position }: WantedPage,
  range: ColdRange,
  limit: number,
): Promise<ColdKey[]> {
  const byUser = sort === 'user' ? { byUser: { behind: position } } : {};
  return coldKeys(visible, { filter, range, descending, ...byUser }, limit);
}

/** The position behind the first `skip` events of both; `hot` are PostgreSQL's. */
export async function positionBehind(
  visible: Visibility,
  wanted: WantedPage,
  range: ColdRange,
  hot: readonly Key[],
  skip: number,
): Promise<ListPosition | null> {
  const cold = await keysOf(visible, wanted, range, skip);
  const last = [...hot, ...cold].sort(aheadIn(wanted))[skip - 1];
  return last ? positionAt(last) : null;
}

const aheadIn = ({ query: { sort }, descending }: WantedPage) =>
  orderOfKeys(sort === 'user', descending);

export const positionAt = ({ uuid, emailKey }: Key): ListPosition => ({
  ...{ direction: 'next', uuid, emailKey, sequence: 0 },
});

/** A page of rows of these ids by sequence: PostgreSQL's, and as many of the archive as fit. */
export async function withColdById(
  visible: Visibility,
  uuids: readonly string[],
  wanted: Pick<WantedPage, 'query' | 'bytesMax' | 'descending'>,
  hot: CutPage,
): Promise<CutPage> {
  const { query, descending } = wanted;
  const cold: ListedRow[] = [];
  for await (const rows of coldEventsById(uuids, visible, query.filter, descending)) {
    cold.push(...(query.include.state ? rows : rows.map(withoutStates)));
    if (cut(cold, wanted).rows.length < cold.length) break;
  }
  const sign = descending ? -1 : 1;
  const bySequence = (a: ListedRow, b: ListedRow) => sign * (a.sequence - b.sequence);
  const end = hot.more ? hot.rows.at(-1) : undefined;
  const merged = [...hot.rows, ...cold].sort(bySequence);
  const inside = merged.filter((row) => end === undefined || bySequence(row, end) <= 0);
  const { rows, bytes } = cut(inside, wanted);
  return { rows, bytes, more: end !== undefined || rows.length < merged.length };
}

/**
 * The first `count` matches of both, newest first: `hot` are PostgreSQL's, `ofKeys` makes those of
 * the archive.
 */
export async function newestOf<Row>(
  visible: Visibility,
  {
    filter,
    count,
    ...bounds
  }: { filter: SqlFilter; count: number; from?: string; before: string | null },
  hot: readonly Row[],
  idOf: (row: Row) => string,
  ofKeys: (keys: readonly ColdKey[]) => Row[] | Promise<Row[]>,
): Promise<Row[]> {
  const range = coldRange(visible, filter, bounds);
  const last = hot.length === count ? hot.at(-1) : undefined;
  if (range === null || (last !== undefined && idOf(last) >= range.before)) return [...hot];
  const keys = await coldKeys(visible, { filter, range, descending: true }, count);
  const both = [...hot, ...(await ofKeys(keys))];
  return both.sort((a, b) => (idOf(a) < idOf(b) ? 1 : -1)).slice(0, count);
}

const withoutStates = (row: ListedRow): ListedRow => ({ ...row, before: null, after: null });

/** As many rows as fit, as `cutPage` counts their bytes; at least one. */
function cut(
  rows: readonly ListedRow[],
  { query: { limit, include }, bytesMax }: Pick<WantedPage, 'query' | 'bytesMax'>,
): { rows: ListedRow[]; bytes: number } {
  let bytes = 0;
  const fitting: ListedRow[] = [];
  const fields = longFields(include.state);
  const bytesOf = (text: unknown) => (typeof text === 'string' ? Buffer.byteLength(text) : 0);
  for (const row of rows.slice(0, limit)) {
    const size = 1024 + fields.reduce((sum, { key }) => sum + bytesOf(row[key]), 0);
    if (fitting.length > 0 && bytes + size > bytesMax) break;
    fitting.push(row);
    bytes += size;
  }
  return { rows: fitting, bytes };
}
