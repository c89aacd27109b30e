import { createHash } from 'node:crypto';
import {
  type EventFilter,
  type FacetName,
  firstUuidAt,
  isUuid,
  type ListQuery,
} from '@indelible/protocol';
import type { TenantTx } from '../db.ts';
import {
  anyOf,
  filterConditions,
  idRange,
  inClasses,
  Params,
  type Visibility,
} from './filter-sql.store.ts';
import type { ListPosition } from './list-cursor.ts';
import type { StoredEvent } from './prepared-event.ts';
import { storedColumns } from './store.ts';

/** A row of a list; the states are null unless asked for, `hasState` tells whether there are any. */
export type ListedRow = StoredEvent & { hasState: boolean; emailKey: string };

export interface ListedPage {
  rows: ListedRow[];
  /** Whether there is more in the direction of reading. */
  more: boolean;
}

const pageBytesMax = 8 * 2 ** 20;

/**
 * One page in list order, by one keyset statement. Each retention class, and each value of the
 * leading filter, is a branch of its own that comes ordered from an index: `= ANY` over several
 * would sort everything the filter matches.
 */
export async function listEvents(
  tx: TenantTx,
  query: ListQuery,
  visible: Visibility,
  position: ListPosition | null,
): Promise<ListedPage> {
  const backwards = position?.direction === 'previous';
  const descending = (query.order === 'desc') !== backwards;
  const params = new Params();
  const skip = query.page === undefined ? 0 : (query.page - 1) * query.limit;
  const source = branches(tx.tenantId, query, visible, position, descending, params, skip);
  const order = orderBy(query.sort, descending);
  const states = query.include.state;
  const size = `octet_length(diff::text)${states ? ' + coalesce(octet_length(before::text), 0) + coalesce(octet_length(after::text), 0)' : ''}`;
  const { rows } = await tx.query<ListedRow & { found: number }>(
    prepared(
      `SELECT ${storedColumns}, actor_email_key AS "emailKey", has_state AS "hasState",
         ${states ? 'before, after' : 'NULL AS before, NULL AS after'}, found
       FROM (SELECT *, before IS NOT NULL OR after IS NOT NULL AS has_state, count(*) OVER () AS found,
               coalesce(sum(${size}) OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
             FROM (SELECT * FROM (${source}) e ORDER BY ${order} OFFSET ${params.add(skip)} LIMIT ${params.add(query.limit + 1)}) p) w
       WHERE bytes_before < ${pageBytesMax} ORDER BY ${order} LIMIT ${params.add(query.limit)}`,
      params,
    ),
  );
  const more = rows.length > 0 && (rows[0]?.found ?? 0) > rows.length;
  return { rows: backwards ? rows.reverse() : rows, more };
}

function orderBy(sort: ListQuery['sort'], descending: boolean): string {
  const way = descending ? 'DESC' : 'ASC';
  return sort === 'user' ? `actor_email_key ${way}, id ${way}` : `id ${way}`;
}

function branches(
  tenantId: string,
  query: ListQuery,
  visible: Visibility,
  position: ListPosition | null,
  descending: boolean,
  params: Params,
  skip: number,
): string {
  const tenant = params.add(tenantId);
  const { from, to } = idRange(query.filter, visible.oldest, firstUuidAt);
  const common = [`tenant_id = ${tenant}`, `id >= ${params.add(from)}`];
  if (to) common.push(`id < ${params.add(to)}`);
  if (position) common.push(behind(position, query.sort, descending, params));
  const lead = leadFacet(query.filter);
  common.push(...filterConditions(query.filter, params, lead));
  const tail = `ORDER BY ${orderBy(query.sort, descending)} LIMIT ${params.add(skip + query.limit + 1)}`;
  const parts = visible.classes.flatMap((retentionClass) => {
    const ofClass = `retention_class = ${params.add(retentionClass)}`;
    return leadConditions(query.filter, lead, params).map(
      (condition) =>
        `(SELECT * FROM audit_events WHERE ${[...common, ofClass, ...condition].join(' AND ')} ${tail})`,
    );
  });
  return parts.join(' UNION ALL ');
}

/** The filter with several values that is likeliest to select little: each value gets a branch. */
function leadFacet(filter: EventFilter): FacetName | undefined {
  const order: FacetName[] = ['resourceId', 'user', 'action', 'resource', 'category'];
  const first = order.find((facet) => (filter[facet]?.any.length ?? 0) > 0);
  return first && (filter[first]?.any.length ?? 0) > 1 ? first : undefined;
}

function leadConditions(
  filter: EventFilter,
  lead: FacetName | undefined,
  params: Params,
): string[][] {
  if (!lead) return [[]];
  const { any = [], none = [] } = filter[lead] ?? {};
  const excluded = none.length > 0 ? [`NOT ${anyOf(lead, none, params)}`] : [];
  const ids = lead === 'user' ? any.filter(isUuid) : [];
  return any.map((value) => {
    // An actor asked for by id and by e-mail must not come twice.
    const once = ids.length > 0 && !isUuid(value) ? [`NOT ${anyOf(lead, ids, params)}`] : [];
    return [anyOf(lead, [value], params), ...once, ...excluded];
  });
}

function behind(
  position: ListPosition,
  sort: ListQuery['sort'],
  descending: boolean,
  params: Params,
): string {
  const sign = descending ? '<' : '>';
  const id = `${params.add(position.uuid)}::uuid`;
  if (sort !== 'user') return `id ${sign} ${id}`;
  return `(actor_email_key, id) ${sign} (${params.add(position.emailKey)}::text, ${id})`;
}

/** How many events match, counted to `max` + 1 at most. */
export async function countEvents(
  tx: TenantTx,
  filter: EventFilter,
  visible: Visibility,
  max: number,
): Promise<number> {
  const params = new Params();
  const { from, to } = idRange(filter, visible.oldest, firstUuidAt);
  const conditions = [
    `tenant_id = ${params.add(tx.tenantId)}`,
    inClasses(visible.classes, params),
    `id >= ${params.add(from)}`,
    ...(to ? [`id < ${params.add(to)}`] : []),
    ...filterConditions(filter, params),
  ];
  const { rows } = await tx.query<{ count: number }>(
    prepared(
      `SELECT count(*) AS count FROM (SELECT FROM audit_events WHERE ${conditions.join(' AND ')} LIMIT ${params.add(max + 1)}) e`,
      params,
    ),
  );
  return rows[0]?.count ?? 0;
}

/** Those of the events with these ids that match the filter, with states when asked for. */
export async function eventsById(
  tx: TenantTx,
  uuids: readonly string[],
  filter: EventFilter,
  visible: Visibility,
  withStates: boolean,
): Promise<ListedRow[]> {
  const params = new Params();
  const { from, to } = idRange(filter, visible.oldest, firstUuidAt);
  const conditions = [
    `tenant_id = ${params.add(tx.tenantId)}`,
    inClasses(visible.classes, params),
    `id = ANY (${params.add(uuids)}::uuid[])`,
    `id >= ${params.add(from)}`,
    ...(to ? [`id < ${params.add(to)}`] : []),
    ...filterConditions(filter, params),
  ];
  const { rows } = await tx.query<ListedRow>(
    prepared(
      `SELECT ${storedColumns}, actor_email_key AS "emailKey", before IS NOT NULL OR after IS NOT NULL AS "hasState",
         ${withStates ? 'before, after' : 'NULL AS before, NULL AS after'}
       FROM audit_events WHERE ${conditions.join(' AND ')}`,
      params,
    ),
  );
  return rows;
}

// Planning 150 partitions takes longer than reading them, so shapes are prepared once a connection.
// Filters combine without end and a prepared statement takes memory: only the first shapes get a name.
const namedShapesMax = 300;
const names = new Map<string, string>();

export function prepared(
  text: string,
  params: Params,
): { name?: string; text: string; values: unknown[] } {
  let name = names.get(text);
  if (name === undefined && names.size < namedShapesMax) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 24);
    names.set(text, name);
  }
  return { ...(name === undefined ? {} : { name }), text, values: params.values };
}
