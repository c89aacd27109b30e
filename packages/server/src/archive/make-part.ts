import { basename } from 'node:path';
import {
  consistencyProof,
  formatBase64,
  formatTimestamp,
  formatVerifierKey,
  parseCheckpoint,
  parseNote,
  rootAtSize,
  uuidTimeMs,
} from '@indelible/protocol';
import {
  type ArchivedBody,
  type ArchivedRow,
  monthAround,
  monthFolder,
  parseArchiveName,
  partNames,
  rowOf,
} from '../cold/index.ts';
import { type PublishedCheckpoint, signingKeys, treeReader } from '../log/index.ts';
import { archiveEvent } from './archive-event.ts';
import type { ArchiveDeps, ArchivedPart } from './archived-part.ts';
import { type ArchiveManifest, archiveFormat, formatManifest } from './manifest.ts';
import { putOnce, sha256Hex } from './objects-once.ts';
import {
  type ArchivedTenant,
  erasuresBehind,
  hasNewerRemoval,
  insertPart,
  isHeldBack,
  type LogPage,
  readLogPage,
} from './store.ts';
import { type WrittenPart, writePart } from './write-part.ts';

// All rows of two pages are in memory, up to 600 KiB each; the sizes of the last rows decide how
// many are read. PostgreSQL takes 2 us an event less for pages of 1,024 than of 256.
const pageEntries = { first: 32, most: 1_024, characters: 2 ** 20 };

/** A part while it is being read. */
interface Draft {
  first: number;
  last: number;
  firstReceivedUs: number;
  events: number;
  contradicted: number;
  /** Events with an erased segment. */
  erased: number;
  /** The oldest time that the plan showed while the first page was read. */
  oldestMs: number;
}

/**
 * Archives the part that begins at `first` and returns it with its bookmark. Null if it must wait:
 * the record of a removal is after the checkpoint, or events may come back from a partition that
 * retention is removing.
 */
export async function makePart(
  deps: ArchiveDeps,
  tenant: ArchivedTenant,
  first: number,
  checkpoint: PublishedCheckpoint,
): Promise<ArchivedPart | null> {
  const draft: Draft = { ...emptyDraft, first, last: first - 1 };
  const wasHeldBack = await deps.owner(isHeldBack);
  const written = await writePart(pagesOf(deps, tenant.id, draft, checkpoint.size));
  const isWhole = draft.events === draft.last - first + 1;
  if (!isWhole && (wasHeldBack || (await mustWait(deps, tenant.id, checkpoint)))) return null;
  return store(deps, tenant, { draft, checkpoint, ...written });
}

/** Whether a missing event may come back, or the checkpoint does not cover its removal. */
function mustWait(
  { owner }: ArchiveDeps,
  tenantId: string,
  { size }: PublishedCheckpoint,
): Promise<boolean> {
  return owner(async (tx) => (await isHeldBack(tx)) || hasNewerRemoval(tx, tenantId, size));
}

const emptyDraft = { firstReceivedUs: 0, events: 0, contradicted: 0, erased: 0, oldestMs: 0 };

/** The rows from the draft's first one until the part is full; updates the draft. */
async function* pagesOf(
  deps: ArchiveDeps,
  tenantId: string,
  draft: Draft,
  end: number,
): AsyncGenerator<ArchivedRow[]> {
  const { sha, limits } = deps;
  const { first } = draft;
  let characters = 0;
  let month = { fromUs: 0, beforeUs: 0 };
  const most = Math.min(end, first + limits.entries);
  for await (const page of readAhead(deps, tenantId, first, most)) {
    const rows: ArchivedRow[] = [];
    let isFull = false;
    for (const [offset, entry] of page.entries.entries()) {
      const sequence = page.start + offset;
      const row = rowOf(sha, sequence, entry, (uuid) => page.bodies.get(uuid) ?? null);
      if (sequence === first) {
        draft.firstReceivedUs = row.receivedAtUs;
        draft.oldestMs = uuidTimeMs(page.oldest);
        month = monthAround(row.receivedAtUs);
      }
      const isOther = row.receivedAtUs < month.fromUs || row.receivedAtUs >= month.beforeUs;
      isFull = isOther || characters >= limits.characters;
      if (isFull) break;
      rows.push(row);
      characters += charactersOf(row.body);
      count(draft, row);
    }
    yield rows;
    if (isFull) return;
  }
}

/** The pages of `[start, end)`. PostgreSQL reads the next one while one is worked on. */
async function* readAhead(
  { owner, now }: ArchiveDeps,
  tenantId: string,
  start: number,
  end: number,
): AsyncGenerator<LogPage> {
  const read = (from: number, entries: number): Promise<LogPage | null> => {
    if (from >= end) return Promise.resolve(null);
    const range = { start: from, end: Math.min(from + entries, end) };
    const page = owner((tx) => readLogPage(tx, tenantId, range, now()));
    page.catch(() => {}); // told when the page is wanted
    return page;
  };
  let next = read(start, pageEntries.first);
  try {
    for (let page = await next; page !== null; page = await next) {
      if (page.entries.length === 0) throw new Error(`the log has no entry ${page.start}`);
      const bodies = [...page.bodies.values()];
      const characters = bodies.reduce((sum, body) => sum + charactersOf(body), 0);
      const each = Math.max(1, characters / page.entries.length);
      const entries = Math.min(pageEntries.most, Math.ceil(pageEntries.characters / each));
      next = read(page.start + page.entries.length, entries);
      yield page;
    }
  } finally {
    // The session takes one transaction at a time.
    await next.catch(() => {});
  }
}

function charactersOf(body: ArchivedBody | null): number {
  if (body === null) return 0;
  const { diff, before, after } = body.event;
  return diff.length + (before?.length ?? 0) + (after?.length ?? 0);
}

function count(draft: Draft, { sequence, body, commitment }: ArchivedRow): void {
  draft.last = sequence;
  if (body !== null) draft.events += 1;
  if (body !== null && commitment !== null) draft.contradicted += 1;
  if (body?.hashes.some((hash) => hash !== null)) draft.erased += 1;
}

interface Made extends WrittenPart {
  draft: Draft;
  checkpoint: PublishedCheckpoint;
}

/** This order makes a part complete or absent: its files, then the manifest, then the bookmark. */
async function store(deps: ArchiveDeps, tenant: ArchivedTenant, made: Made): Promise<ArchivedPart> {
  const { owner, objects, recordOwn, now } = deps;
  const { draft, events, identity } = made;
  const { first, last } = draft;
  const folder = monthFolder(tenant.id, draft.firstReceivedUs);
  const names = partNames(folder, draft);
  await putOnce(objects, names.events, events);
  await putOnce(objects, names.identity, identity);
  const manifest = await manifestOf(deps, tenant, made, names.stem);
  const bytes = formatManifest(manifest);
  await putOnce(objects, names.manifest, bytes);
  await removeLeftovers(deps, folder, draft);
  const part = {
    ...{ first, last, stem: names.stem, events: draft.events },
    bytes: events.length + identity.length,
    contradicted: draft.contradicted,
  };
  const root = Buffer.from(manifest.root, 'base64');
  await owner(async (tx) => {
    await insertPart(tx, { ...part, tenantId: tenant.id, root, archivedAtMs: now() });
    const record = { ...part, manifestSha256: sha256Hex(bytes) };
    await recordOwn(tx, tenant.id, archiveEvent(tenant.id, record));
  });
  return part;
}

/** Files of an interrupted run with this first sequence, which no manifest names. */
async function removeLeftovers({ objects }: ArchiveDeps, folder: string, { first, last }: Draft) {
  for (const object of await objects.list(folder)) {
    const name = parseArchiveName(object);
    if (name?.first === first && name.last !== last && !name.isManifest)
      await objects.remove(object);
  }
}

async function manifestOf(
  { owner, sha, now }: ArchiveDeps,
  { id, name, plan, locale, timeZone, legalHold }: ArchivedTenant,
  { draft, checkpoint, events, identity }: Made,
  stem: string,
): Promise<ArchiveManifest> {
  const { first, last } = draft;
  const entries = last - first + 1;
  const { note } = checkpoint;
  const { origin } = parseCheckpoint(parseNote(note).text);
  const { root, consistency, keys, erasures } = await owner(async (tx) => {
    const nodes = treeReader(tx, sha, id);
    const isSame = last + 1 === checkpoint.size;
    // Both run together. Awaited together, because an unhandled rejection would end the process.
    const [root, consistency] = await Promise.all([
      rootAtSize(sha, nodes, last + 1),
      isSame ? [] : consistencyProof(sha, nodes, last + 1, checkpoint.size),
    ]);
    return {
      ...{ root, consistency },
      keys: await signingKeys(tx),
      erasures: draft.erased === 0 ? [] : await erasuresBehind(tx, id, last),
    };
  });
  const file = (suffix: string, bytes: Uint8Array) => ({
    name: `${basename(stem)}${suffix}.parquet`,
    bytes: bytes.length,
    sha256: sha256Hex(bytes),
  });
  return {
    format: archiveFormat,
    tenantId: id,
    tenant: { name, plan, locale, timeZone, legalHold },
    first,
    last,
    counts: {
      entries,
      events: draft.events,
      absent: entries - draft.events,
      contradicted: draft.contradicted,
    },
    madeAt: formatTimestamp(now()),
    cutoff: legalHold ? null : formatTimestamp(draft.oldestMs),
    files: { events: file('', events), identity: file('-identity', identity) },
    ...(erasures.length === 0 ? {} : { erasures }),
    root: formatBase64(root),
    checkpoint: note,
    consistency: consistency.map(formatBase64),
    keys: keys.map(({ publicKey, notBeforeMs, notAfterMs }) => ({
      vkey: formatVerifierKey(sha, origin, publicKey),
      notBefore: formatTimestamp(notBeforeMs),
      notAfter: notAfterMs === null ? null : formatTimestamp(notAfterMs),
    })),
  };
}
