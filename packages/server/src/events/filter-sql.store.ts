import { createHash } from 'node:crypto';
import {
  type EventFilter,
  type FacetName,
  facetNames,
  facetOf,
  firstUuidAt,
  isUuid,
  lateAfterMs,
  lateClass,
  uuidTimeMs,
} from '@indelible/protocol';
import { textArray, uuidArray } from '../postgres/pg-arrays.ts';
import type { TenantTx } from '../postgres/tenant-tx.ts';

/** Parameters of a statement; each member returns the placeholder. */
export class Params {
  readonly values: unknown[] = [];

  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  texts(values: readonly string[]): string {
    return `${this.add(textArray(values))}::text[]`;
  }

  uuids(values: readonly string[]): string {
    return `${this.add(uuidArray(values))}::uuid[]`;
  }
}

/**
 * A tag, as those of `sql.ts`: the rows of a statement, whose placeholders are of `params`. A
 * frequent one has a name, so that each connection keeps its plan. PostgreSQL plans another one for
 * its values, and only for the partitions between its bounds.
 */
export const rowsWith =
  <Row extends object>(tx: Pick<TenantTx, 'query'>, { values }: Params) =>
  async (
    texts: TemplateStringsArray,
    ...inserted: readonly (string | number)[]
  ): Promise<Row[]> => {
    const text = String.raw({ raw: texts }, ...inserted);
    const name = nameOf(text);
    return (await tx.query<Row>({ text, values, ...(name && { name }) })).rows;
  };

// Planning 84 partitions takes 15 ms and more, a plan that is kept 1 to 3. It takes megabytes in
// each connection, so the number of names is limited; one-off queries must not use them up.
const namesMax = 40;
const usesBeforeName = 3;
const countedTextsMax = 1_000;
const names = new Map<string, string>();
const uses = new Map<string, number>();

function nameOf(text: string): string | undefined {
  if (names.has(text) || names.size === namesMax) return names.get(text);
  const count = (uses.get(text) ?? 0) + 1;
  if (uses.size >= countedTextsMax) uses.clear();
  uses.set(text, count);
  if (count === usesBeforeName)
    names.set(text, createHash('sha256').update(text).digest('base64url'));
  return names.get(text);
}

/** A tenant's events as far as its plan shows them, and the transaction that reads them. */
export interface Visibility {
  tx: TenantTx;
  /** The classes of its rows. */
  classes: readonly number[];
  /** The first id of the time since which an event must have happened or been received. */
  oldest: string;
  /** Size of the log. */
  size: number;
  /** When the last event was received. */
  newestMs: number;
}

/** A filter of one statement, in which ids stand for its words (see `portions`). */
export type SqlFilter = EventFilter & {
  /** All events that the statement may return; it does not compare the words of `q`. */
  among?: readonly string[];
  /** Only events recorded before this sequence. */
  beforeSequence?: number;
};

/** Conditions except the retention class; the caller adds that of `except`. */
export function filterConditions(filter: SqlFilter, params: Params, except?: FacetName): string[] {
  const { receivedFrom, receivedTo, q, among, beforeSequence } = filter;
  const received = (sign: string, ms: number | undefined) =>
    ms === undefined ? [] : [`received_at ${sign} ${params.add(new Date(ms))}`];
  const conditions = [...received('>=', receivedFrom), ...received('<', receivedTo)];
  if (among !== undefined) {
    // The subquery lets each id be looked up in its own partition only.
    conditions.push(`id IN (SELECT unnest(${params.uuids(among)}))`);
  } else if (q !== undefined) {
    throw new Error('the events with these words are not known');
  }
  if (beforeSequence !== undefined) conditions.push(`sequence < ${params.add(beforeSequence)}`);
  for (const facet of facetNames) {
    const values = filter[facet];
    if (values === undefined || facet === except || facet === 'q') continue;
    if (values.any.length > 0) conditions.push(anyOf(facet, values.any, params));
    if (values.none.length > 0) conditions.push(noneOf(facet, values.none, params));
  }
  return conditions;
}

/** `facet is any of these values`, in parentheses if needed. */
export function anyOf(facet: FacetName, values: readonly string[], params: Params): string {
  const { boolean, list } = facetOf(facet).columns;
  if (list !== undefined) return `(${list} && ${params.texts(values)})`;
  if (boolean !== undefined) {
    if (values.length > 1) return 'true';
    return values[0] === 'true' ? boolean : `(NOT ${boolean})`;
  }
  const each = byColumn(facet, values).map((some) => equals(some, params));
  return each.length === 1 ? each.join() : `(${each.join(' OR ')})`;
}

/** `facet is none of these values`; a comparison with NULL is neither true nor false. */
export function noneOf(facet: FacetName, values: readonly string[], params: Params): string {
  const any = anyOf(facet, values, params);
  return facetOf(facet).nullable ? `(${any} IS NOT TRUE)` : `NOT ${any}`;
}

export interface ColumnValues {
  column: string;
  type: 'uuid' | 'text';
  values: readonly string[];
}

/** The values by column: one column, or two if ids and words are mixed. */
export function byColumn(facet: FacetName, values: readonly string[]): ColumnValues[] {
  const { uuid, text } = facetOf(facet).columns;
  const isId = (value: string) => uuid !== undefined && (text === undefined || isUuid(value));
  const ids = { column: uuid ?? '', type: 'uuid' as const, values: values.filter(isId) };
  const words = values.filter((value) => !isId(value));
  const texts = { column: text ?? '', type: 'text' as const, values: words };
  return [ids, texts].filter((some) => some.values.length > 0);
}

/** The values as the array parameter of a statement. */
export function arrayOf({ type, values }: ColumnValues, params: Params): string {
  return type === 'uuid' ? params.uuids(values) : params.texts(values);
}

function equals(some: ColumnValues, params: Params): string {
  const { column, values } = some;
  if (values.length === 1) return `(${column} = ${params.add(values[0])})`;
  return `(${column} = ANY (${arrayOf(some, params)}))`;
}

/** The time since which events are shown. */
export function shownSince({ oldest }: Pick<Visibility, 'oldest'>): Date {
  return new Date(uuidTimeMs(oldest));
}

/** No event with a lower id is shown. Late events may have any timestamp. */
export function lowestShown({ classes, oldest }: Pick<Visibility, 'classes' | 'oldest'>): string {
  const fromMs = classes.includes(lateClass) ? 0 : uuidTimeMs(oldest) - lateAfterMs;
  return firstUuidAt(Math.max(0, fromMs));
}

/**
 * The conditions for events of these classes that the plan shows. The lowest id excludes the
 * expired partitions of other classes than the late one.
 */
export function shownIn(
  classes: readonly number[],
  { from = 0 }: EventFilter,
  visible: Visibility,
  params: Params,
): string[] {
  const { oldest } = visible;
  if (firstUuidAt(from) >= oldest) return [inClasses(classes)];
  const ordinary = classes.filter((each) => each !== lateClass);
  const since = params.add(shownSince({ oldest }));
  const shown = `(id >= ${params.add(oldest)} OR received_at >= ${since})`;
  if (ordinary.length === 0) return [inClasses(classes), shown];
  const lowest = params.add(lowestShown({ classes: ordinary, oldest }));
  const within = `${inClasses(ordinary)} AND id >= ${lowest}`;
  const isAll = ordinary.length === classes.length;
  return [isAll ? within : `(${inClasses([lateClass])} OR ${within})`, shown];
}

/**
 * The conditions of `shownIn` for one class, as alternatives that exclude each other: almost every
 * event matches the first, which reads no column that indexes lack.
 */
export function shownEither(
  each: number,
  { from = 0 }: EventFilter,
  visible: Visibility,
  params: Params,
): string[][] {
  const { oldest } = visible;
  if (firstUuidAt(from) >= oldest) return [[inClasses([each])]];
  const bound = params.add(oldest);
  const lowest = params.add(lowestShown({ classes: [each], oldest }));
  const since = params.add(shownSince({ oldest }));
  return [
    [inClasses([each]), `id >= ${bound}`],
    [inClasses([each]), `id >= ${lowest}`, `id < ${bound}`, `received_at >= ${since}`],
  ];
}

/**
 * `retention_class is one of these`, as constants. The planner then skips the partitions of other
 * classes. A parameter takes ten times as long to plan, and four times the memory.
 */
export function inClasses(classes: readonly number[]): string {
  const [only] = classes;
  if (classes.length === 1) return `retention_class = ${Number(only)}`;
  return `retention_class IN (${classes.map(Number).sort().join(', ')})`;
}

/** Conditions except those of `shownIn`; the caller adds that of `except`. */
export function matching(
  { tenantId }: TenantTx,
  filter: SqlFilter,
  params: Params,
  except?: FacetName,
): string[] {
  const { from, to } = filter;
  const conditions = [`tenant_id = ${params.add(tenantId)}`];
  if (from !== undefined) conditions.push(`id >= ${params.add(firstUuidAt(from))}`);
  if (to !== undefined) conditions.push(`id < ${params.add(firstUuidAt(to))}`);
  return [...conditions, ...filterConditions(filter, params, except)];
}

/** The conditions for every match that the plan shows. */
export function allMatching(filter: SqlFilter, visible: Visibility, params: Params): string[] {
  return [
    ...matching(visible.tx, filter, params),
    ...shownIn(visible.classes, filter, visible, params),
  ];
}
