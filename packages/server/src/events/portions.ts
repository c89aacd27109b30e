import { type EventFilter, firstUuidAt, uuidTimeMs } from '@indelible/protocol';
import { AppError } from '../http/index.ts';
import type { TenantTx } from '../postgres/index.ts';
import { findWords } from '../words/index.ts';
import { lowestShown, type SqlFilter, type Visibility } from './filter-sql.store.ts';

/** A statement's own bounds, as a cursor sets them; half-open. */
export interface IdBounds {
  from?: string;
  before?: string | null;
  ascending?: boolean;
}

const afterAll = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * The filter for one statement after the other. Without words it is one statement. With words each
 * statement gets the next ids that have them, in order; the caller stops when it has enough.
 */
export async function* portions(
  tx: TenantTx,
  filter: EventFilter,
  visible: Pick<Visibility, 'classes' | 'oldest'>,
  bounds: IdBounds = {},
): AsyncGenerator<SqlFilter> {
  const { q } = filter;
  if (q === undefined) {
    yield filter;
    return;
  }
  const froms = [lowestShown(visible), firstUuidAt(filter.from ?? 0), bounds.from ?? ''];
  const to = filter.to === undefined ? afterAll : firstUuidAt(filter.to);
  const befores = [to, bounds.before ?? afterAll];
  const range = {
    from: froms.sort().at(-1) ?? '',
    before: befores.sort()[0] ?? '',
    descending: bounds.ascending !== true,
  };
  for await (const among of findWords(tx, { ...filter, q }, range)) yield { ...filter, among };
}

const nearMs = 31 * 86_400_000;

/**
 * The same for a page without words, in two statements: the first opens the few partitions near the
 * page's beginning, of hundreds, and most often fills it.
 */
export function nearFirst(
  filter: EventFilter,
  { newestMs }: Pick<Visibility, 'newestMs'>,
  position: { uuid: string } | null,
  descending: boolean,
): EventFilter[] {
  const { from = 0, to = Number.POSITIVE_INFINITY } = filter;
  if (position === null && !descending) return [filter];
  const at = position === null ? newestMs : uuidTimeMs(position.uuid);
  const edge = descending ? Math.min(at, to) - nearMs : Math.max(at, from) + nearMs;
  if (edge <= from || edge >= to) return [filter];
  const [older, newer] = [
    { ...filter, to: edge },
    { ...filter, from: edge },
  ];
  return descending ? [newer, older] : [older, newer];
}

/** More matches of words are neither counted in groups nor sorted by user. */
export const foundMax = 200_000;

/** The filter for one statement about all matches. Throws `invalid_parameter` for too many. */
export async function inOneStatement(
  tx: TenantTx,
  filter: EventFilter,
  visible: Pick<Visibility, 'classes' | 'oldest'>,
): Promise<SqlFilter> {
  const among: string[] = [];
  for await (const portion of portions(tx, filter, visible)) {
    if (portion.among === undefined) return portion;
    among.push(...portion.among);
    if (among.length > foundMax) throw tooMany();
  }
  return { ...filter, among };
}

function tooMany(): AppError {
  const message = 'matches too many events';
  return new AppError(
    'invalid_parameter',
    `more than ${foundMax.toLocaleString('en')} events have these words; narrow the time range, or add words or filters`,
    { errors: [{ path: 'q', code: 'too_many', message }] },
  );
}
