import { type EventFilter, firstUuidAt, uuidTimeMs } from '@indelible/protocol';
import { invalidParameter } from '../http/problem.ts';
import { wordsToFind } from '../words/block-words.ts';
import { findWords } from '../words/find-words.ts';
import { lowestShown, type SqlFilter, type Visibility } from './filter-sql.store.ts';

/** Where the first statement begins, in ids; half-open. */
export interface IdBounds {
  from?: string;
  before?: string | null;
  ascending?: boolean;
}

/** Higher than every id of an event. */
export const afterAll = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * The filter for one statement after the other, in the order of ids; the caller stops when it has
 * enough. With words each statement gets the next ids that have them. Without words each gets a
 * range of time.
 */
export async function* portions(
  filter: SqlFilter,
  visible: Visibility,
  bounds: IdBounds = {},
): AsyncGenerator<SqlFilter> {
  const q = wordsToFind(filter);
  if (q === undefined) {
    yield* timeRanges(filter, visible, bounds);
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
  for await (const among of findWords(visible.tx, { ...filter, q }, range))
    yield { ...filter, among };
}

const day = 86_400_000;

/**
 * PostgreSQL plans each statement for the partitions of its range, of hundreds. A page is most
 * often in the month at its beginning, else in the year.
 */
const spans = [31 * day, 400 * day];

function timeRanges(
  filter: SqlFilter,
  visible: Visibility,
  { from = firstUuidAt(0), before, ascending = false }: IdBounds,
): SqlFilter[] {
  const lowest = Math.max(filter.from ?? 0, uuidTimeMs(from), uuidTimeMs(lowestShown(visible)));
  const highest = Math.min(filter.to ?? afterAllMs, before ? uuidTimeMs(before) + 1 : afterAllMs);
  const begin = ascending ? lowest : Math.min(highest, visible.newestMs);
  const edges = spans
    .map((span) => (ascending ? begin + span : begin - span))
    .filter((edge) => edge > lowest && edge < highest);
  const ranges: SqlFilter[] = [];
  let rest = filter;
  for (const edge of edges) {
    const [older, newer] = [
      { ...rest, to: edge },
      { ...rest, from: edge },
    ];
    ranges.push(ascending ? older : newer);
    rest = ascending ? newer : older;
  }
  return [...ranges, rest];
}

const afterAllMs = uuidTimeMs(afterAll);

/** More matches of words are neither counted in groups nor sorted by user. */
const foundMax = 200_000;

/** The filter for one statement about all matches. Throws `invalid_parameter` for too many. */
export async function inOneStatement(filter: EventFilter, visible: Visibility): Promise<SqlFilter> {
  if (wordsToFind(filter) === undefined) return filter;
  const among: string[] = [];
  for await (const portion of portions(filter, visible)) {
    among.push(...(portion.among ?? []));
    if (among.length <= foundMax) continue;
    if (filter.q === undefined) return filter;
    throw tooMany();
  }
  return { ...filter, among };
}

const tooMany = () =>
  invalidParameter(
    { path: 'q', code: 'too_many', message: 'matches too many events' },
    `more than ${foundMax.toLocaleString('en')} events have these words; narrow the time range, or add words or filters`,
  );
