import { createHash } from 'node:crypto';
import { isUuid } from '@indelible/protocol';
import type { TenantTx } from '../postgres/db.ts';
import type { Params } from './filter-sql.store.ts';

// Planning 100 partitions takes longer than reading them, so frequent statements are prepared once
// for each connection. Each plan takes megabytes in each connection, so the number of names is
// limited; one-off queries must not use them up. Many short questions leave names to the long ones,
// which gain most.
const namesLeft = { few: 20, all: 20 };
const usesBeforeName = 3;
const countedShapesMax = 1_000;
const names = new Map<string, string>();
const uses = new Map<string, number>();

/** A tag, as those of `sql.ts`: the rows of a statement, whose placeholders are of `params`. */
export const rowsWith =
  <Row extends object>(tx: Pick<TenantTx, 'query'>, params: Params) =>
  async (texts: TemplateStringsArray, ...parts: readonly (string | number)[]): Promise<Row[]> =>
    (await tx.query<Row>(prepared(String.raw({ raw: texts }, ...parts), params))).rows;

/** A named statement if it is frequent; otherwise one for its own range. */
export function prepared(
  text: string,
  params: Params,
): { name?: string; text: string; values: unknown[] } {
  const name = names.get(text) ?? newName(text, params.partitions);
  return name === undefined ? ofItsRange(text, params) : { name, text, values: params.values };
}

/**
 * The statement with the bounds of its ids as constants: PostgreSQL then plans only the partitions
 * between them, of hundreds.
 */
export function ofItsRange(
  text: string,
  { values, bounds }: Params,
): { text: string; values: unknown[] } {
  const kept: number[] = [];
  const withConstants = text.replaceAll(/\$(\d+)/g, (_, digits: string) => {
    const number = Number(digits);
    const value = values[number - 1];
    if (bounds.has(number)) return constant(value);
    if (!kept.includes(number)) kept.push(number);
    return `$${kept.indexOf(number) + 1}`;
  });
  return { text: withConstants, values: kept.map((number) => values[number - 1]) };
}

function constant(value: unknown): string {
  if (typeof value !== 'string' || !isUuid(value)) throw new Error('a bound of ids is no UUID');
  return `'${value}'`;
}

function newName(text: string, partitions: Params['partitions']): string | undefined {
  if (namesLeft[partitions] === 0) return undefined;
  const count = (uses.get(text) ?? 0) + 1;
  if (count < usesBeforeName) {
    if (uses.size >= countedShapesMax) uses.clear();
    uses.set(text, count);
    return undefined;
  }
  uses.delete(text);
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 24);
  names.set(text, name);
  namesLeft[partitions]--;
  return name;
}
