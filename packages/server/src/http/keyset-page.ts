import {
  nilUuid,
  type ParamReader,
  uuidBytes,
  uuidFromBytes,
  wholeNumber,
} from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { nullable, queryText, strict } from './field-schemas.ts';
import { AppError } from './problem.ts';
import { readQuery, searchParams } from './query.ts';

/*
 * Pages of short administrative lists, in the order of their ids. The list of events has cursors of
 * its own (list-cursor.ts): they lead both ways, and are bound to a tenant, a filter and an order.
 */

const limitDefault = 50;
const limitMax = 500;
const lastUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export const PageQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limitMax,
        default: limitDefault,
        description: 'How many a page holds at most.',
      }),
    ),
    cursor: Type.Optional(queryText('The `nextCursor` of the page before.')),
  },
  strict,
);

export const Pagination = Type.Object(
  { limit: Type.Integer(), hasMore: Type.Boolean(), nextCursor: nullable({}) },
  strict,
);

/** Which rows to read: the first `limit` ones from the id `from` on, upwards or downwards. */
export interface PageRequest {
  limit: number;
  from: string;
}

/**
 * The page that a call asks for; without a cursor the list begins at its first id (`oldest`) or at
 * its last one (`newest`). `readMore` reads the call's own parameters, `more`. Throws
 * `unknown_parameter`, `invalid_parameter` with every problem, or `invalid_cursor`.
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
 * The answer of a list: `read` is asked for one row more than the page holds, which tells whether
 * there is more, and is where the next page begins.
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
