import {
  nilUuid,
  type ParamReader,
  uuidBytes,
  uuidFromBytes,
  wholeNumber,
} from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { described, exact, named, nullable, queryText } from './field-schemas.ts';
import { AppError } from './problem.ts';
import { readQuery, searchParams } from './query.ts';
import { Type } from './type.ts';

/*
 * Pages of short administrative lists, by id. The list of events has its own cursors
 * (list-cursor.ts), in both directions and bound to tenant, filter and order.
 */

const limitDefault = 50;
const limitMax = 500;
const lastUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export const PageQuery = exact({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limitMax,
      default: limitDefault,
      description: 'How many a page holds at most.',
    }),
  ),
  cursor: Type.Optional(queryText('The `nextCursor` of the page before.')),
});

const Pagination = named('Pagination', {
  limit: Type.Integer(),
  hasMore: Type.Boolean(),
  nextCursor: nullable({}),
});

/** The answer of such a list. */
export const pageOf = <T extends TSchema>(title: string, item: T, description: string) =>
  described(title, description, { data: Type.Array(item), pagination: Pagination });

/** The first `limit` rows from the id `from`, ascending or descending. */
export interface PageRequest {
  limit: number;
  from: string;
}

/**
 * The requested page; without a cursor the list begins at its first id (`oldest`) or its last one
 * (`newest`). `readMore` reads the call's own parameters, `more`. Throws `unknown_parameter`,
 * `invalid_parameter` with every problem, or `invalid_cursor`.
 */
export function readPage<More extends object = object>(
  request: Pick<FastifyRequest, 'url'>,
  begin: 'oldest' | 'newest',
  more: readonly string[] = [],
  readMore?: (reader: ParamReader) => More,
): PageRequest & More {
  if (searchParams(request).get('cursor') === '') throw invalidCursor();
  const query = readQuery(request, ['limit', 'cursor', ...more], (reader) => ({
    limit: reader.one('limit', `a whole number from 1 to ${limitMax}`, wholeNumber(1, limitMax)),
    cursor: reader.one('cursor', 'a cursor', (text) => text),
    more: readMore?.(reader) ?? ({} as More),
  }));
  const first = begin === 'oldest' ? nilUuid : lastUuid;
  const from = query.cursor === undefined ? first : idOfCursor(query.cursor);
  return { ...query.more, limit: query.limit ?? limitDefault, from };
}

function idOfCursor(cursor: string): string {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length === 16 && bytes.toString('base64url') === cursor) return uuidFromBytes(bytes);
  throw invalidCursor();
}

function invalidCursor(): AppError {
  return new AppError('invalid_cursor', 'the cursor does not belong to this list');
}

/**
 * The answer of a list. `read` is asked for one row more than the page holds: it shows whether
 * there is more, and is the start of the next page.
 */
export async function answerPage<Row extends { id: string }, Shown>(
  { limit, from }: PageRequest,
  read: (from: string, max: number) => Promise<readonly Row[]>,
  show: (rows: readonly Row[]) => Shown[] | Promise<Shown[]>,
) {
  const rows = await read(from, limit + 1);
  const next = rows[limit];
  const nextCursor = next ? Buffer.from(uuidBytes(next.id)).toString('base64url') : null;
  const pagination = { limit, hasMore: next !== undefined, nextCursor };
  return { data: await show(rows.slice(0, limit)), pagination };
}
