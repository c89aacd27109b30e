import { type EventFilter, firstUuidAt, uuidTimeMs } from '@indelible/protocol';
import {
  allMatching,
  filterConditions,
  Params,
  rowsWith,
  type Visibility,
} from '../events/filter-sql.store.ts';
import type { ListedRow } from '../events/listed-row.ts';
import { inOneStatement, portions } from '../events/portions.ts';
import { inOrder } from '../list/branches.store.ts';
import { textArray, uuidArray } from '../postgres/pg-arrays.ts';
import type { Candidate, Seen } from './evaluate.ts';

/* What evaluators have to know of the log before the events that they take next. */

/** The events of a rule before those that are evaluated. */
export interface Before {
  filter: EventFilter;
  visible: Visibility;
  /** Events from this sequence on are still to be evaluated. */
  sequence: number;
}

/** An event that comes later than this after its time sets nothing off. */
export const lateMs = 3_600_000;

const onTime = `received_at <= to_timestamp((('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint
  + ${lateMs}) / 1000.0)`;

/** The rows of a statement on the events of a rule from this time on. */
async function recalled<Row extends object>(
  { filter, visible, sequence }: Before,
  sinceMs: number,
  statement: (conditions: readonly string[], params: Params) => string,
): Promise<Row[]> {
  const params = new Params();
  const wanted = { ...filter, from: Math.max(0, sinceMs), beforeSequence: sequence };
  const within = await inOneStatement(wanted, visible);
  const conditions = allMatching(within, visible, params);
  return rowsWith<Row>(visible.tx, params)`${statement(conditions, params)}`;
}

type GroupColumn = 'actor_id' | 'resource_id' | 'actor_ip' | null;

interface Earlier extends Seen {
  group: string;
  atMs: number;
}

/**
 * The last `count` events of each of these groups from `fromSequence` and `sinceMs` on, by
 * sequence. One statement, because without statistics the planner would read the whole window for
 * each group.
 */
export async function earlierOf(
  before: Before,
  column: GroupColumn,
  groups: readonly string[],
  { fromSequence, sinceMs, count }: { fromSequence: number; sinceMs: number; count: number },
): Promise<Earlier[]> {
  const group = column ?? `''::text`;
  const rows = await recalled<Omit<Earlier, 'atMs'>>(before, sinceMs, (all, params) => {
    const from = `sequence >= ${params.add(fromSequence)}`;
    const conditions = [...all, from, onTime, ...ofGroups(column, groups, params)];
    return `SELECT "group", uuid, sequence FROM (
        SELECT ${group} AS "group", id AS uuid, sequence,
          row_number() OVER (PARTITION BY ${group} ORDER BY sequence DESC) AS nth
        FROM audit_events WHERE ${conditions.join(' AND ')}) e
      WHERE nth <= ${params.add(count)} ORDER BY sequence`;
  });
  return rows.map((row) => ({ ...row, atMs: uuidTimeMs(row.uuid) }));
}

function ofGroups(column: GroupColumn, groups: readonly string[], params: Params): string[] {
  if (column === null) return [];
  if (column === 'actor_ip') return [`${column} = ANY (${params.add(textArray(groups))}::text[])`];
  return [`${column} = ANY (${params.add(uuidArray(groups))}::uuid[])`];
}

/** How `first_seen` compares a value with events. */
const isValue = {
  actor: 'resource_type = p.value',
  resource: 'resource_id = p.value::uuid',
  ip: 'actor_ip::inet <<= p.value::cidr',
} as const;

/**
 * When each actor last matched with each value since `sinceMs`; null: not since then. OFFSET 0
 * keeps the index of actors in use.
 */
export async function lastSeen(
  before: Before,
  groupBy: keyof typeof isValue,
  pairs: readonly { actor: string; value: string }[],
  sinceMs: number,
): Promise<(number | null)[]> {
  const params = new Params();
  const { filter, visible, sequence } = before;
  const since = { ...filter, from: Math.max(0, sinceMs) };
  const within = await inOneStatement(since, visible);
  const ofActor = allMatching({ from: since.from }, visible, params);
  const conditions = [
    ...filterConditions(within, params),
    ...[isValue[groupBy], `sequence < ${params.add(sequence)}`],
  ];
  const actors = params.add(uuidArray(pairs.map(({ actor }) => actor)));
  const values = params.add(textArray(pairs.map(({ value }) => value)));
  const rows = await rowsWith<{ uuid: string | null }>(visible.tx, params)`
    SELECT (SELECT id FROM (SELECT * FROM audit_events
        WHERE ${ofActor.join(' AND ')} AND actor_id = p.actor ORDER BY id DESC OFFSET 0) e
      WHERE ${conditions.join(' AND ')} LIMIT 1) AS uuid
    FROM unnest(${actors}::uuid[], ${values}::text[]) WITH ORDINALITY AS p (actor, value, nth)
    ORDER BY nth`;
  return rows.map(({ uuid }) => (uuid === null ? null : uuidTimeMs(uuid)));
}

/** Whether each actor had any event in its time. */
export async function actorsSeen(
  visible: Visibility,
  asked: readonly { actor: string; fromMs: number; toMs: number }[],
): Promise<boolean[]> {
  const params = new Params();
  const oldest = Math.min(...asked.map(({ fromMs }) => fromMs));
  const conditions = [
    ...allMatching({ from: Math.max(0, oldest) }, visible, params),
    ...['actor_id = a.actor', 'id >= a.low', 'id < a.high'],
  ];
  const arrays = [
    uuidArray(asked.map(({ actor }) => actor)),
    uuidArray(asked.map(({ fromMs }) => firstUuidAt(Math.max(0, fromMs)))),
    uuidArray(asked.map(({ toMs }) => firstUuidAt(Math.max(0, toMs)))),
  ].map((array) => `${params.add(array)}::uuid[]`);
  const rows = await rowsWith<{ isSeen: boolean }>(visible.tx, params)`
    SELECT EXISTS (SELECT 1 FROM audit_events WHERE ${conditions.join(' AND ')}) AS "isSeen"
    FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS a (actor, low, high, nth) ORDER BY nth`;
  return rows.map(({ isSeen }) => isSeen);
}

/** How many events each actor had in the hour from each of these times on. */
export async function countsInHours(
  before: Before,
  hours: readonly { actor: string; hourMs: number }[],
): Promise<number[]> {
  const low = Math.min(...hours.map(({ hourMs }) => hourMs));
  const rows = await recalled<{ count: number }>(before, low, (all, params) => {
    const conditions = [...all, 'actor_id = h.actor', 'id >= h.low', 'id < h.high', onTime];
    const arrays = [
      uuidArray(hours.map(({ actor }) => actor)),
      uuidArray(hours.map(({ hourMs }) => firstUuidAt(hourMs))),
      uuidArray(hours.map(({ hourMs }) => firstUuidAt(hourMs + 3_600_000))),
    ].map((array) => `${params.add(array)}::uuid[]`);
    return `SELECT (SELECT count(*) FROM audit_events WHERE ${conditions.join(' AND ')}) AS count
      FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS h (actor, low, high, nth) ORDER BY nth`;
  });
  return rows.map(({ count }) => count);
}

/** When each actor first matched since `sinceMs`; null: not before these events. */
export async function firstMatches(
  before: Before,
  actors: readonly string[],
  sinceMs: number,
): Promise<(number | null)[]> {
  const rows = await recalled<{ uuid: string | null }>(before, sinceMs, (all, params) => {
    const conditions = [...all, 'actor_id = a.actor'].join(' AND ');
    const given = `unnest(${params.add(uuidArray(actors))}::uuid[]) WITH ORDINALITY AS a (actor, nth)`;
    return `SELECT (SELECT id FROM audit_events WHERE ${conditions} ORDER BY id LIMIT 1) AS uuid
      FROM ${given} ORDER BY nth`;
  });
  return rows.map(({ uuid }) => (uuid === null ? null : uuidTimeMs(uuid)));
}

/** The states of the alerts that a rule has raised since then, oldest first: JSON texts. */
export async function alertsSince(
  visible: Visibility,
  ruleId: string,
  sinceMs: number,
): Promise<string[]> {
  const params = new Params();
  const conditions = allMatching({ from: sinceMs }, visible, params);
  const rows = await rowsWith<{ after: string }>(visible.tx, params)`
    SELECT after FROM audit_events WHERE ${conditions.join(' AND ')}
      AND resource_id = ${params.add(ruleId)} AND action = 'raise' AND resource_type = 'alert'
      AND recorded_by_kind = 'service' AND after IS NOT NULL ORDER BY id`;
  return rows.map(({ after }) => after);
}

/**
 * Alerts, and messages that tell of them: rules that these set off would never end. The same as a
 * condition, below.
 */
export function isAboutAlerts({
  recordedByKind,
  action,
  resourceType,
}: Pick<ListedRow, 'recordedByKind' | 'action' | 'resourceType'>): boolean {
  if (recordedByKind !== 'service') return false;
  return resourceType === 'alert' || (action === 'send' && resourceType === 'webhook');
}

const notAboutAlerts = `NOT (recorded_by_kind = 'service' AND (resource_type = 'alert'
  OR (action = 'send' AND resource_type = 'webhook')))`;

const columns = ['id', 'sequence', 'actor_id', 'actor_ip', 'resource_type', 'resource_id'] as const;

/** All values of each column; no value has a line break. */
type Page = Record<(typeof columns)[number], string | null>;
const joined = columns.map((name) => `string_agg(coalesce(${name}::text, ''), E'\\n') AS ${name}`);

/**
 * The next matching events in the order of their times; `after` is the id of the last one. A page
 * is one row of six long texts: a row for each event takes twice the processor time.
 */
export async function candidatesAfter(
  filter: EventFilter,
  visible: Visibility,
  after: string,
  max: number,
): Promise<Candidate[]> {
  const found: Candidate[] = [];
  for await (const part of portions(filter, visible, { from: after, ascending: true })) {
    const params = new Params();
    const conditions = [`id > ${params.add(after)}::uuid`, notAboutAlerts];
    const limit = params.add(max - found.length);
    const source = inOrder('id', part, visible, conditions, limit, params);
    const rows = await rowsWith<Page>(visible.tx, params)`
      SELECT ${joined.join()} FROM (SELECT * FROM (${source}) e ORDER BY id LIMIT ${limit}) page`;
    for (const page of rows) for (const each of candidatesIn(page)) found.push(each);
    if (found.length === max) break;
  }
  return found;
}

function candidatesIn(page: Page): Candidate[] {
  if (page.id === null) return [];
  const values = columns.map((name) => (page[name] ?? '').split('\n'));
  const [ids = [], sequences = [], actors = [], ips = [], types = [], resources = []] = values;
  return ids.map((uuid, n) => ({
    uuid,
    sequence: Number(sequences[n]),
    atMs: uuidTimeMs(uuid),
    actorId: actors[n] ?? '',
    actorIp: ips[n] || null,
    resourceType: types[n] ?? '',
    resourceId: resources[n] ?? '',
  }));
}
