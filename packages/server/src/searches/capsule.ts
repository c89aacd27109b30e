import {
  type CapsuleData,
  capsuleFile,
  capsuleFormat,
  capsuleJson,
  clockSlackMs,
  decidingSegments,
  encodeUtf8,
  formatBase64,
  formatHex,
  formatTimestamp,
  formatVerifierKey,
  matchOf,
  parseBodyLine,
  parseCheckpoint,
  parseNote,
  type Sha256,
  stateAtSize,
  typeId,
  withheldSegments,
  withholdableSegments,
  withholdSegments,
} from '@indelible/protocol';
import type { TenantAccess } from '../access/tenant-access.ts';
import type { Visibility } from '../events/filter-sql.store.ts';
import type { ListedPage } from '../events/listed-row.ts';
import { readShown } from '../events/store.ts';
import { givingWay } from '../http/giving-way.ts';
import { AppError, invalid } from '../http/problem.ts';
import { countEvents } from '../list/count.store.ts';
import { bodyLine, proofJson, proveEvent, readBodies } from '../list/proof.ts';
import { publishedCheckpoint, signingKeys } from '../log/checkpoint.store.ts';
import { readEntries } from '../log/entries.store.ts';
import { firstReceivedSince } from '../log/received-since.ts';
import { treeNodes } from '../log/tree.store.ts';
import { actOf } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import type { TenantTx } from '../postgres/db.ts';
import { getTenant } from '../tenants/store.ts';
import { searchIdPrefix } from './erased-since.ts';
import { coverageNow, type SearchDeps, shownCovered, shownSearch, unknownNow } from './evidence.ts';
import { type FrozenFilter, frozenFilter, type SavedSearch } from './store.ts';

export interface CapsuleDeps extends SearchDeps, Pick<Parts, 'sha' | 'recordQueued'> {
  /** The built page with the verifier. */
  capsulePage: () => Promise<string>;
}

/** What a browser verifies within seconds, and a mail can carry. */
export const capsuleMax = {
  events: 20_000,
  entries: 100_000,
  bytes: 32 * 2 ** 20,
  /** The bytes of all events of the range, withheld or not: to read them takes 14 s. */
  readBytes: 512 * 2 ** 20,
};
/** `gone` is aborted if the caller disconnects: then the capsule is not made. */
type CapsuleMax = Readonly<typeof capsuleMax & { gone?: AbortSignal | undefined }>;

/**
 * A saved search as one file that verifies itself. It holds every event of the time range, not only
 * the matches. Otherwise its reader could not see that no match is missing. The log records the
 * hash of its data first: the proof of that record shows each change of the file.
 */
export async function makeCapsule(
  deps: CapsuleDeps,
  access: TenantAccess,
  search: SavedSearch,
  max: CapsuleMax,
): Promise<string> {
  const { sha } = deps;
  const { tenantId } = access;
  const page = await deps.capsulePage();
  const data = capsuleJson(await capsuleData(deps, tenantId, search, max));
  const sha256 = formatHex(sha(encodeUtf8(data, 'the data')));
  const uuid = await deps.recordQueued(tenantId, capsuleEvent(access, search, sha256));
  const proof = proofJson(await proveEvent(deps, tenantId, uuid), sha);
  return capsuleFile(page, { data, record: capsuleJson(JSON.parse(proof)) });
}

async function capsuleData(
  deps: CapsuleDeps,
  tenantId: string,
  saved: SavedSearch,
  max: CapsuleMax,
): Promise<CapsuleData> {
  const { db, sha, now } = deps;
  const filter = frozenFilter(saved.filters);
  const readParts = async (visible: Visibility) => {
    const { tx } = visible;
    await requireSameLog(tx, saved);
    await requireFewEvents(filter, visible, max);
    const name = (await getTenant(tx))?.name ?? '';
    return { name, log: await readLog(tx, sha, filter.from, saved.checkpointSize, max) };
  };
  const { name, log } = await readShown(db, tenantId, now(), readParts, max.gone);
  const origin = parseCheckpoint(parseNote(saved.checkpointNote).text).origin;
  const keys = await signingKeys(db.reader);
  const { coverage, sources } = await coverageNow(deps, tenantId, filter, max.gone);
  return {
    format: capsuleFormat,
    madeAt: formatTimestamp(now()),
    tenant: { id: tenantId, name },
    search: { ...searchOf(saved, deps.publicUrl()), unknownValues: unknownNow(saved, coverage) },
    checkpoint: saved.checkpointNote,
    vkeys: [...new Set(keys.map(({ publicKey }) => formatVerifierKey(sha, origin, publicKey)))],
    log,
    bodies: await readRange(deps, tenantId, filter, saved.checkpointSize, max),
    coverage,
    sources: sources.map(shownCovered),
  };
}

function searchOf(saved: SavedSearch, publicUrl: string): CapsuleData['search'] {
  const { id, url, note, createdAt, createdBy, filters, digest } = shownSearch(saved, publicUrl);
  return {
    id,
    url,
    ...(note !== null && { note }),
    createdAt,
    createdBy: { id: createdBy.id, ...(createdBy.email !== null && { email: createdBy.email }) },
    filters,
    matched: saved.matched,
    digest,
  };
}

async function requireSameLog(tx: TenantTx, { logId, checkpointSize }: SavedSearch): Promise<void> {
  const log = await publishedCheckpoint(tx);
  if (log?.logId === logId && log.size >= checkpointSize) return;
  const sentence =
    'the log continues under another name since this search was saved: save the search again';
  throw new AppError('conflict', sentence);
}

async function requireFewEvents(
  { from, to }: FrozenFilter,
  visible: Visibility,
  max: CapsuleMax,
): Promise<void> {
  const count = await countEvents({ from, to }, visible, max.events);
  requireAtMost(max.events, count, 'events');
}

/** The entries from the last one before the range on: none of the range can be left out. */
async function readLog(
  tx: TenantTx,
  sha: Sha256,
  fromMs: number,
  size: number,
  max: CapsuleMax,
): Promise<CapsuleData['log']> {
  const first = Math.max(0, (await firstReceivedSince(tx, fromMs - clockSlackMs, size)) - 1);
  requireAtMost(max.entries, size - first, 'log entries since it began');
  const entries = await readEntries(tx, first, size);
  const { frontier } = await stateAtSize(treeNodes(tx, sha), first);
  return { first, frontier: formatHex(frontier), entries: formatBase64(Buffer.concat(entries)) };
}

/** The events of the range below `size`, in order of id, page by page. */
async function readRange(
  { db, sha, now }: CapsuleDeps,
  tenantId: string,
  filter: FrozenFilter,
  size: number,
  max: CapsuleMax,
): Promise<object[]> {
  const bodies: object[] = [];
  const { from, to } = filter;
  const shownLine = lineOf(sha, filter);
  const giveWay = givingWay();
  let [bytes, readBytes] = [0, 0];
  for (let after: string | null = null, more = true; more; ) {
    const behind: string | null = after;
    const next = (visible: Visibility) =>
      readBodies(visible, behind, { filter: { from, to }, limit: 200 });
    const page: ListedPage = await readShown(db, tenantId, now(), next, max.gone);
    for (const row of page.rows.filter(({ sequence }) => sequence < size)) {
      await giveWay();
      max.gone?.throwIfAborted();
      const line = bodyLine(row);
      readBytes += line.length;
      const body: object = JSON.parse(shownLine(line));
      bytes += capsuleJson(body).length;
      bodies.push(body);
    }
    requireAtMost(max.bytes, bytes, 'bytes of events');
    requireAtMost(max.readBytes, readBytes, 'bytes of events, withheld ones included');
    after = page.rows.at(-1)?.uuid ?? null;
    more = page.more;
  }
  return bodies;
}

/** A match as it is; of other events only what shows that they do not match. */
function lineOf(sha: Sha256, filter: FrozenFilter): (line: string) => string {
  const deciding = decidingSegments(filter);
  const others = withholdableSegments.filter((name) => !deciding.has(name));
  return (line) => {
    const body = parseBodyLine(line);
    if (matchOf(body.event, filter, withheldSegments(body)) === true) return line;
    const isDecided = matchOf(body.event, filter, withholdableSegments) === false;
    return withholdSegments(sha, line, isDecided ? withholdableSegments : others);
  };
}

function requireAtMost(max: number, count: number, name: string): void {
  if (count <= max) return;
  const message = `has more than ${max.toLocaleString('en')} ${name}`;
  const sentence =
    `the time range ${message}, too many for a capsule: save a search of a ` +
    'shorter or later range, or hand over a bundle of the whole log (indelible export --bundle)';
  throw invalid([{ path: '/id', code: 'too_many', message }], sentence);
}

function capsuleEvent({ tenantId, ...who }: TenantAccess, search: SavedSearch, sha256: string) {
  const after = { searchId: typeId(searchIdPrefix, search.id), sha256 };
  return actOf(who, 'download', { type: 'audit_log', id: tenantId, name: null }, { after });
}
