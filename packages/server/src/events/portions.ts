import { type EventFilter, firstUuidAt, only, uuidTimeMs } from '@indelible/protocol';
import { invalidParameter } from '../http/problem.ts';
import { wordsToFind } from '../words/block-words.ts';
import { findWords } from '../words/find-words.ts';
import { lowestShown, type SqlFilter, type Visibility } from './filter-sql.store.ts';

/** A statement's own bounds, as a cursor sets them; half-open. */
export interface IdBounds {
  from?: string;
  before?: string | null;
  ascending?: boolean;
}

/** Higher than every id of an event. */
export const afterAll = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * The filter for one statement after the other. Without words it is one statement. With words each
 * statement gets the next ids that have them, in order; the caller stops when it has enough.
 */
export async function* portions(
  filter: SqlFilter,
  visible: Visibility,
  bounds: IdBounds = {},
): AsyncGenerator<SqlFilter> {
  const q = wordsToFind(filter);
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
  for await (const among of findWords(visible.tx, { ...filter, q }, range))
    yield { ...filter, among };
}

const day = 86_400_000;

/** A page is most often in the month at its beginning, else in the year. */
const pageSpans = [31 * day, 400 * day];
const skippedSpans = [400 * day];

/**
 * The same for a page without words, in statements that follow one another in time: the first ones
 * open few partitions, of hundreds, and most often fill the page.
 */
export function nearFirst(
  filter: SqlFilter,
  visible: Pick<Visibility, 'newestMs'>,
  position: { uuid: string } | null,
  descending: boolean,
): SqlFilter[] {
  const parts: SqlFilter[] = [];
  let rest = filter;
  for (const edge of edgesOf(filter, visible, position, descending, pageSpans)) {
    const [older, newer] = [
      { ...rest, to: edge },
      { ...rest, from: edge },
    ];
    parts.push({ ...(descending ? newer : older), isPart: true });
    rest = descending ? older : newer;
  }
  return [...parts, rest];
}

/**
 * The events behind this position of the same user, which most often fill the next page by user: a
 * statement for all users opens every partition. Not those of more than a year.
 */
export function restOfUser(
  filter: EventFilter,
  visible: Pick<Visibility, 'newestMs'>,
  position: { uuid: string; emailKey: string } | null,
  descending: boolean,
): SqlFilter[] {
  const isOther = filter.user !== undefined || filter.q !== undefined;
  if (position === null || isOther) return [];
  const ofUser = { ...filter, user: only(position.emailKey) };
  return nearFirst(ofUser, visible, position, descending).slice(0, -1);
}

/**
 * The same for events to skip, while PostgreSQL has no plan for the whole range. Each filter
 * includes the ones before it; the last one is the whole range.
 */
export function widerAndWider(
  filter: EventFilter,
  visible: Pick<Visibility, 'newestMs'>,
  descending: boolean,
): SqlFilter[] {
  const edges = edgesOf(filter, visible, null, descending, skippedSpans);
  return [...edges.map((from) => ({ ...filter, from, isPart: true as const })), filter];
}

/** The ends of these spans from the page's beginning on, within the filter. */
function edgesOf(
  { from = 0, to = Number.POSITIVE_INFINITY }: EventFilter,
  { newestMs }: Pick<Visibility, 'newestMs'>,
  position: { uuid: string } | null,
  descending: boolean,
  spans: readonly number[],
): number[] {
  if (position === null && !descending) return []; // begins at an event that is not known
  const at = position === null ? newestMs : uuidTimeMs(position.uuid);
  return spans
    .map((span) => (descending ? Math.min(at, to) - span : Math.max(at, from) + span))
    .filter((edge) => edge > from && edge < to);
}

/** More matches of words are neither counted in groups nor sorted by user. */
const foundMax = 200_000;

/** The filter for one statement about all matches. Throws `invalid_parameter` for too many. */
export async function inOneStatement(filter: SqlFilter, visible: Visibility): Promise<SqlFilter> {
  const among: string[] = [];
  for await (const portion of portions(filter, visible)) {
    if (portion.among === undefined) return portion;
    among.push(...portion.among);
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
