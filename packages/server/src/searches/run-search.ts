import { createHash } from 'node:crypto';
import { eventIdFromUuid } from '@indelible/protocol';
import type { Visibility } from '../events/filter-sql.store.ts';
import { readShown } from '../events/store.ts';
import { type AppError, invalid } from '../http/problem.ts';
import type { Database } from '../postgres/db.ts';
import { type FrozenFilter, type Match, nextMatches } from './store.ts';

export const matchesMax = 1_000_000;
const matchesPerPage = 10_000;

interface RunSearch {
  tenantId: string;
  filter: FrozenFilter;
  /** The log's size in the checkpoint of the answer. */
  size: number;
  /** The size of an earlier answer, whose part is digested separately. */
  earlierSize: number;
  /** More matches are refused. */
  max: number;
  /** Aborted if the caller disconnects: reading then stops. */
  gone?: AbortSignal | undefined;
  /** Matches per page; default 10,000. */
  perPage?: number;
}

/**
 * The answer for the first `size` entries of the log, and for the first `earlierSize`. Each page
 * has its own snapshot: memory stays small, and no snapshot is held for long. Pages fit together
 * because ids and sequences never change. Throws `validation_failed` above `max`.
 */
export async function runSearch(
  db: Database,
  nowMs: number,
  { tenantId, filter, size, earlierSize, max, gone, perPage = matchesPerPage }: RunSearch,
): Promise<{ answer: Answer; earlier: Answer }> {
  const all = answerDigest();
  const earlier = answerDigest();
  let page: Match[];
  let before: string | null = null;
  do {
    const from: string | null = before;
    const next = (visible: Visibility) => nextMatches(filter, visible, size, from, perPage);
    page = await readShown(db, tenantId, nowMs, next, gone);
    for (const { uuid, sequence } of page) {
      all.add(uuid);
      if (sequence < earlierSize) earlier.add(uuid);
    }
    if (all.matched() > max) throw tooMany(max);
    before = page.at(-1)?.uuid ?? null;
  } while (page.length === perPage);
  return { answer: all.end(), earlier: earlier.end() };
}

function tooMany(max: number): AppError {
  const sentence = `more than ${max.toLocaleString('en')} events match; narrow the range or the filters`;
  const message = 'match too many events';
  return invalid([{ path: '/filters', code: 'too_many', message }], sentence);
}

/** The number of matches, and the SHA-256 of their ids. */
interface Answer {
  matched: number;
  digest: Uint8Array;
}

/**
 * Digests an answer: SHA-256 over the events' ids (`evt_audit_…`) in list order, newest first,
 * joined by single line feeds, none at the end. Without a match: the SHA-256 of an empty text.
 */
function answerDigest() {
  const hash = createHash('sha256');
  let matched = 0;
  return {
    add(uuid: string): void {
      hash.update((matched === 0 ? '' : '\n') + eventIdFromUuid(uuid));
      matched += 1;
    },
    matched: () => matched,
    /** Call it once. */
    end: (): Answer => ({ matched, digest: hash.digest() }),
  };
}

export function sameAnswer(one: Answer, other: Answer): boolean {
  return one.matched === other.matched && Buffer.compare(one.digest, other.digest) === 0;
}
