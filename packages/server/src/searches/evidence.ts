import {
  type Coverage,
  type EventFilter,
  filterToJson,
  formatHex,
  formatTimestamp,
  type NamedFilter,
  panelRoot,
  resolvedFilter,
  typeId,
  type UnknownValues,
  unknownOf,
  unknownPairs,
  uuidTimeMs,
} from '@indelible/protocol';
import type { TenantAccess } from '../access/tenant-access.ts';
import { lowestShown, shownSince, type Visibility } from '../events/filter-sql.store.ts';
import { readShown } from '../events/store.ts';
import { AppError, invalid } from '../http/problem.ts';
import {
  coveringCheckpoint,
  type PublishedCheckpoint,
  publishedCheckpoint,
} from '../log/checkpoint.store.ts';
import { actOf, type OwnEvent } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { readTenant, write } from '../postgres/db.ts';
import { listSources } from '../sources/store.ts';
import { shownGap } from '../sources/tell-sources.ts';
import { type Covered, coverageOf, findUnknown, readCoverage } from './coverage.ts';
import { erasedSince, searchIdPrefix } from './erased-since.ts';
import { matchesMax, runSearch, sameAnswer } from './run-search.ts';
import {
  countedFrom,
  type FrozenFilter,
  freeze,
  frozenFilter,
  insertSearch,
  type SavedSearch,
} from './store.ts';

export type SearchDeps = Pick<
  Parts,
  'db' | 'now' | 'newUuid' | 'recordAccess' | 'recordOwn' | 'publicUrl' | 'publishCheckpoint'
>;

type PathOf = (name: NamedFilter, value: string) => string;

/** The query; `gone` is aborted if the caller disconnects. */
interface Asked {
  filter: EventFilter;
  note: string | null;
  /** Saves also a search for unknown values; or else where in the body such a value is. */
  unknown: true | PathOf;
  gone: AbortSignal | undefined;
}

/**
 * Runs and saves a search. The time is fixed before the checkpoint, so the checkpoint covers
 * everything recorded before it. The answer has only events that the checkpoint covers. Throws
 * `validation_failed` for a person or resource that occurs in no event, unless `unknown` is set.
 */
export async function saveSearch(
  deps: SearchDeps,
  access: TenantAccess,
  { filter, note, unknown, gone }: Asked,
): Promise<SavedSearch> {
  const { db } = deps;
  const { tenantId, actor } = access;
  const nowMs = deps.now();
  const { frozen, countedFromMs, unknownValues } = await readShown(
    ...([db, tenantId, nowMs] as const),
    async (visible) => {
      const resolved = resolvedFilter(filter, tenantId);
      const frozen = requireRange(freeze(resolved, uuidTimeMs(lowestShown(visible)), nowMs));
      const unknownValues = await findUnknown(filter, visible);
      if (unknown !== true) requireKnown(unknownValues, unknown);
      return { frozen, countedFromMs: await countedFrom(frozen, visible), unknownValues };
    },
    gone,
  );
  const checkpoint = await freshCheckpoint(deps, tenantId);
  const { size } = checkpoint;
  const bounds = { size, earlierSize: size, max: matchesMax, gone };
  const { answer } = await runSearch(db, nowMs, { tenantId, filter: frozen, ...bounds });
  const search: SavedSearch = {
    id: deps.newUuid(nowMs),
    filters: JSON.stringify(filterToJson(frozen)),
    note,
    createdAtMs: nowMs,
    createdById: actor.id,
    createdByEmail: actor.email,
    logId: checkpoint.logId,
    checkpointSize: size,
    checkpointRoot: checkpoint.root,
    checkpointNote: checkpoint.note,
    ...answer,
    countedFromMs,
    unknownValues: JSON.stringify(unknownValues),
  };
  await write(db, async (tx) => {
    await insertSearch(tx, tenantId, search);
    await deps.recordOwn(tx, tenantId, searchEvent(access, search));
  });
  return search;
}

function requireRange(filter: FrozenFilter): FrozenFilter {
  if (filter.from < filter.to) return filter;
  const message = 'must select a time range before now that the plan still shows';
  const errors = [{ path: '/filters/from', code: 'out_of_range', message }];
  throw invalid(errors, 'there is nothing to search: the range is empty');
}

function requireKnown(unknownValues: UnknownValues, pathOf: PathOf): void {
  const errors = unknownPairs(unknownValues).map(([name, value]) => {
    const message =
      `${JSON.stringify(value)} occurs in no event that the plan shows: check the spelling, or ` +
      'send "unknown": true, and the evidence says so';
    return { path: pathOf(name, value), code: 'unknown_value', message };
  });
  if (errors.length > 0) throw invalid(errors);
}

/** A checkpoint of the whole current log; signs one if the log has grown. */
function freshCheckpoint(deps: SearchDeps, tenantId: string): Promise<PublishedCheckpoint> {
  const read = () => readTenant(deps.db, tenantId, publishedCheckpoint);
  return coveringCheckpoint(read, deps.publishCheckpoint);
}

/** If no fresh checkpoint is possible, the last one is used: evidence must always be readable. */
async function latestCheckpoint(deps: SearchDeps, tenantId: string) {
  return freshCheckpoint(deps, tenantId).catch(async (error: unknown) => {
    // The search of a caller who has gone (rate_limited) must not run: it has no slot.
    if (!(error instanceof AppError) || error.code === 'rate_limited') throw error;
    return (await readTenant(deps.db, tenantId, publishedCheckpoint))?.checkpoint ?? null;
  });
}

type AnswerNow = Awaited<ReturnType<typeof askAgain>>;

export async function askAgain(
  deps: SearchDeps,
  tenantId: string,
  search: SavedSearch,
  gone: AbortSignal | undefined,
) {
  const nowMs = deps.now();
  const earlierSize = search.checkpointSize;
  const checkpoint = await latestCheckpoint(deps, tenantId);
  const readErased = async (visible: Visibility) => {
    return { visible, isErased: await erasedSince(visible, search) };
  };
  const { visible, isErased } = await readShown(deps.db, tenantId, nowMs, readErased, gone);
  const filter = frozenFilter(search.filters);
  const size = checkpoint?.size ?? earlierSize;
  const bounds = { size, earlierSize, max: search.matched + matchesMax, gone };
  const { answer, earlier } = await runSearch(deps.db, nowMs, { tenantId, filter, ...bounds });
  const { countedFromMs } = search;
  return {
    answer,
    checkpoint,
    agrees: sameAnswer(answer, search),
    /** Whether the events under the saved checkpoint give the same answer. */
    earlierAgrees: sameAnswer(earlier, search),
    recordedSince: answer.matched - earlier.matched,
    ...(await coverageNow(deps, tenantId, filter, gone)),
    /** Whether events of the range have expired since. */
    bodiesExpired: countedFromMs !== null && countedFromMs < shownSince(visible).getTime(),
    erasedSince: isErased,
  };
}

/** What the search could find at all, as far as it is known now. */
export function coverageNow(
  { db, now }: SearchDeps,
  tenantId: string,
  filter: FrozenFilter,
  gone: AbortSignal | undefined,
) {
  const read = async (visible: Visibility) => ({
    coverage: await readCoverage(filter, visible),
    sources: coverageOf(await listSources(visible.tx), filter),
  });
  return readShown(db, tenantId, now(), read, gone);
}

function searchEvent({ tenantId, ...who }: TenantAccess, search: SavedSearch): OwnEvent {
  const { note, checkpointSize, matched } = search;
  const searchId = typeId(searchIdPrefix, search.id);
  const answer = { checkpointSize, matched, digest: formatHex(search.digest) };
  const unknownValues = JSON.parse(search.unknownValues ?? '{}');
  const after = { searchId, filters: JSON.parse(search.filters), note, unknownValues, ...answer };
  return actOf(who, 'search', { type: 'audit_log', id: tenantId, name: null }, { after });
}

const shownAnswer = ({ matched, digest }: Pick<SavedSearch, 'matched' | 'digest'>) => ({
  matched: { value: matched },
  digest: formatHex(digest),
});

type Checkpoint = Pick<PublishedCheckpoint, 'size' | 'root' | 'note'>;

const shownCheckpoint = ({ size, root, note }: Checkpoint) => ({
  size,
  rootHash: formatHex(root),
  note,
});

/** The unknown values of a search; those of a build that did not look for them are judged now. */
export function unknownNow(search: SavedSearch, { totals }: Coverage): UnknownValues {
  const { unknownValues, matched } = search;
  return unknownValues === null ? unknownOf(totals, matched) : JSON.parse(unknownValues);
}

export function shownSearch(search: SavedSearch, publicUrl: string) {
  const { checkpointSize: size, checkpointRoot: root, checkpointNote: note } = search;
  const id = typeId(searchIdPrefix, search.id);
  return {
    id,
    url: `${publicUrl}${panelRoot}/searches/${id}`,
    filters: JSON.parse(search.filters),
    note: search.note,
    unknownValues: JSON.parse(search.unknownValues ?? 'null') as UnknownValues | null,
    createdAt: formatTimestamp(search.createdAtMs),
    createdBy: { id: search.createdById, email: search.createdByEmail },
    checkpoint: shownCheckpoint({ size, root, note }),
    ...shownAnswer(search),
  };
}

export const shownCovered = ({ firstReceivedMs, lastReceivedMs, gaps, ...source }: Covered) => ({
  ...source,
  firstReceivedAt: formatTimestamp(firstReceivedMs),
  lastReceivedAt: formatTimestamp(lastReceivedMs),
  gaps: gaps.map(shownGap),
});

export function shownNow({ answer, checkpoint, recordedSince, sources, ...verdicts }: AnswerNow) {
  return {
    ...shownAnswer(answer),
    ...verdicts,
    recordedSince: { value: recordedSince },
    sources: sources.map(shownCovered),
    checkpoint: checkpoint && shownCheckpoint(checkpoint),
  };
}
