import {
  countedFacets,
  facetNames,
  facetOf,
  firstUuidAt,
  type GroupKey,
  isUuid,
  uuidTimeMs,
} from '@indelible/protocol';
import type { BlockQuery } from '../words/count-block.ts';
import { type BlocksToCount, blocksToCount } from '../words/count-values.ts';
import { idsInNoBlock } from '../words/find-words.ts';
import { wordsProgress } from '../words/store.ts';
import type { SqlFilter, Visibility } from './filter-sql.store.ts';

/** More entries in no block are not looked up one by one. */
const newestMax = 5_000;

/** Of the ids that there are. */
const lastMs = 2 ** 48 - 1;

/** What of a query is counted in blocks, and the filters of the events that statements count. */
interface Counted {
  inBlocks: BlocksToCount | null;
  rest: SqlFilter[];
}

/**
 * Blocks of words have the values of events, too. Statements count the newest events, which are in
 * none, those that retention may remove, and all of them if the filter compares what blocks
 * do not know.
 */
export async function splitByBlocks(
  query: { groupBy: readonly GroupKey[]; filter: SqlFilter; bucketStarts: readonly number[] },
  visible: Visibility,
): Promise<Counted> {
  const { filter, groupBy, bucketStarts: starts } = query;
  const { from = 0, to = lastMs } = filter;
  const values = valuesOf(filter);
  const progress = await wordsProgress(visible.tx);
  const fromMs = Math.max(from, progress.wholeFromMs, uuidTimeMs(visible.oldest));
  const isBehind = progress.size - progress.indexed > newestMax;
  if (values === null || progress.indexed === 0 || isBehind || fromMs >= to)
    return { inBlocks: null, rest: [filter] };
  const keys = groupBy.map((key) => countedFacets.find((each) => each === key) ?? 'time');
  const inBlocks = await blocksToCount(visible.tx, {
    keys,
    starts,
    filter: values,
    fromMs,
    beforeMs: to,
  });
  const older = from < fromMs ? [{ ...filter, to: fromMs }] : [];
  const range = { from: firstUuidAt(fromMs), before: firstUuidAt(to) };
  const among = [...inBlocks.few];
  for await (const some of idsInNoBlock(visible.tx, range, progress)) among.push(...some);
  among.sort();
  const [first, last] = [among[0], among.at(-1)];
  if (first === undefined || last === undefined) return { inBlocks, rest: older };
  // Within their own times, so that PostgreSQL opens few partitions.
  const newest = { ...filter, from: uuidTimeMs(first), to: uuidTimeMs(last) + 1, among };
  return { inBlocks, rest: [...older, newest] };
}

/** The filter as blocks know it; null: they lack what it compares. */
function valuesOf({ receivedFrom, receivedTo, ...filter }: SqlFilter): BlockQuery['filter'] | null {
  if (receivedFrom !== undefined || receivedTo !== undefined) return null;
  const values: BlockQuery['filter'] = {};
  for (const name of facetNames) {
    const wanted = filter[name];
    if (wanted === undefined) continue;
    const facet = countedFacets.find((each) => each === name);
    const isKnown = (value: string) =>
      facet !== undefined && (!facetOf(facet).columns.uuid || isUuid(value));
    if (facet === undefined || ![...wanted.any, ...wanted.none].every(isKnown)) return null;
    values[facet] = wanted;
  }
  return values;
}
