import { type EventFilter, storedFields } from '@indelible/protocol';
import {
  Params,
  rowsWith,
  type SqlFilter,
  type Visibility,
} from '../../events/filter-sql.store.ts';
import { portions } from '../../events/portions.ts';
import type { StoredEvent } from '../../events/prepared-event.ts';
import { longBytes } from '../../events/read-columns.store.ts';
import { inOrder } from '../../list/branches.store.ts';

/** The events of a file. */
export interface FileRows {
  filter: EventFilter;
  /** Only events recorded before this sequence. */
  beforeSequence: number;
  /** Only from this id on, whatever the plan shows now. */
  oldestId: string;
  /** Whether the lines contain the states. */
  withStates: boolean;
}

/** The content of a line; without `withStates` it has no states. */
export type ExportedEvent = Omit<StoredEvent, 'salts'>;

export interface FilePage {
  events: ExportedEvent[];
  more: boolean;
}

/** A page ends behind the event with which its texts reach this size. */
const pageBytes = 2 * 2 ** 20;

/** The next events, newest first, up to `limit`: those before the id `before`, null for all. */
export async function nextPage(
  { filter, beforeSequence, oldestId, withStates }: FileRows,
  shown: Visibility,
  before: string | null,
  limit: number,
): Promise<FilePage> {
  const visible = { ...shown, oldest: oldestId };
  const events: ExportedEvent[] = [];
  let bytes = 0;
  for await (const portion of portions({ ...filter, beforeSequence }, visible, { before })) {
    const rest = { rows: limit - events.length, bytes: pageBytes - bytes };
    const page = await pageOf(portion, visible, before, rest, withStates);
    events.push(...page.events);
    bytes += page.bytes;
    // Behind the last event that fits there may be more.
    if (page.more || bytes >= pageBytes) return { events, more: true };
  }
  return { events, more: false };
}

async function pageOf(
  filter: SqlFilter,
  visible: Visibility,
  before: string | null,
  most: { rows: number; bytes: number },
  withStates: boolean,
): Promise<FilePage & { bytes: number }> {
  const params = new Params();
  const conditions = before === null ? [] : [`id < ${params.add(before)}::uuid`];
  const limit = params.add(most.rows);
  const source = inOrder('id DESC', filter, visible, conditions, limit, params);
  const rows = await rowsWith<ExportedEvent & { total: number }>(visible.tx, params)`
    SELECT ${columnsOf(withStates)}, total
    FROM (SELECT *, sum(bytes) OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS total
      FROM (SELECT *, ${longBytes(withStates)} AS bytes FROM (${source}) s
        ORDER BY id DESC LIMIT ${limit}) m) w
    WHERE total - bytes < ${params.add(most.bytes)} ORDER BY id DESC`;
  return { events: rows, more: rows.length === most.rows, bytes: rows.at(-1)?.total ?? 0 };
}

const columnsOf = (withStates: boolean): string =>
  [
    ...storedFields
      .filter(({ kind }) => withStates || kind !== 'state')
      .map(({ column, key }) => `${column} AS "${key}"`),
    'erased',
  ].join(', ');
