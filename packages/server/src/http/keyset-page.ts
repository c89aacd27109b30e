import { type FieldProblem, nilUuid, uuidBytes, uuidFromBytes } from '@indelible/protocol';
import { Type } from 'typebox';
import { nullable, strict } from './field-schemas.ts';
import { AppError } from './problem.ts';

/* Pages of short administrative lists, in the order of their ids. */

const limitDefault = 50;
const limitMax = 500;

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
    cursor: Type.Optional(Type.String({ description: 'The `nextCursor` of the page before.' })),
  },
  strict,
);

export const Pagination = Type.Object(
  { limit: Type.Integer(), hasMore: Type.Boolean(), nextCursor: nullable({}) },
  strict,
);

/** Which rows to read: the first `limit` ones with an id of at least `from`. */
export interface PageRequest {
  limit: number;
  from: string;
}

/**
 * The page a request's URL asks for. Throws `unknown_parameter`, `invalid_parameter` with every
 * problem, or `invalid_cursor`.
 */
export function readPage(url: string): PageRequest {
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  const params = new URLSearchParams(query);
  const unknown = [...new Set(params.keys())].filter((name) => !['limit', 'cursor'].includes(name));
  if (unknown.length > 0) throw refused('unknown_parameter', unknown, 'is not a parameter here');
  const repeated = ['limit', 'cursor'].filter((name) => params.getAll(name).length > 1);
  if (repeated.length > 0) throw refused('invalid_parameter', repeated, 'may be given only once');
  return { limit: readLimit(params.get('limit')), from: readCursor(params.get('cursor')) };
}

function readLimit(text: string | null): number {
  if (text === null) return limitDefault;
  const limit = /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN;
  if (limit <= limitMax) return limit;
  throw refused('invalid_parameter', ['limit'], `must be a whole number from 1 to ${limitMax}`);
}

function readCursor(text: string | null): string {
  if (text === null) return nilUuid;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length === 16 && bytes.toString('base64url') === text) return uuidFromBytes(bytes);
  throw new AppError('invalid_cursor', 'the cursor does not belong to this list');
}

function refused(
  code: 'unknown_parameter' | 'invalid_parameter',
  names: readonly string[],
  message: string,
): AppError {
  const problems = names.slice(0, 50).map((name): FieldProblem => {
    return { path: name.slice(0, 64).toWellFormed(), code, message };
  });
  return new AppError(code, `${problems[0]?.path} ${message}`, { errors: problems });
}

/**
 * One page out of the rows from `from` on, of which one more than `limit` was read: that one tells
 * whether there is more, and is where the next page begins.
 */
export function pageOf<Row extends { id: string }>(rows: readonly Row[], limit: number) {
  const next = rows[limit];
  const nextCursor = next ? Buffer.from(uuidBytes(next.id)).toString('base64url') : null;
  const pagination = { limit, hasMore: next !== undefined, nextCursor };
  return { rows: rows.slice(0, limit), pagination };
}
