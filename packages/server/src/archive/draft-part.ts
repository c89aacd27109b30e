import { uuidTimeMs } from '@indelible/protocol';
import {
  type ArchivedBody,
  type ArchivedRow,
  monthAround,
  type PartLimits,
  rowOf,
} from '../cold/index.ts';
import { sha } from '../crypto/index.ts';
import type { OwnerSession } from '../postgres/index.ts';
import { type LogPage, readLogPage } from './store.ts';
import { type WrittenPart, writePart } from './write-part.ts';

// All rows of two pages are in memory, up to 600 KiB each; the sizes of the last rows decide how
// many are read, so the caller bounds the rows.
const pageEntries = { first: 32, most: 256, characters: 2 ** 20 };

/** A part while it is being read. */
export interface Draft {
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

/** The part of a log that begins at `first`, and ends below `end` or at a limit. */
export interface DraftWanted {
  tenantId: string;
  first: number;
  end: number;
  limits: PartLimits;
  /** Decides what the plan shows. */
  nowMs: number;
}

export interface DraftedPart extends WrittenPart {
  draft: Draft;
}

/** Runs one transaction as the owner. */
type Owner = OwnerSession['transaction'];

/** Reads the entries and events of a part, at most so many at once, and makes its files. */
export async function draftPart(
  owner: Owner,
  wanted: DraftWanted,
  pageMost = pageEntries.most,
): Promise<DraftedPart> {
  const draft: Draft = { ...emptyDraft, first: wanted.first, last: wanted.first - 1 };
  const written = await writePart(pagesOf(readAhead(owner, wanted, pageMost), wanted, draft));
  return { draft, ...written };
}

const emptyDraft = { firstReceivedUs: 0, events: 0, contradicted: 0, erased: 0, oldestMs: 0 };

/** The rows from the draft's first one until the part is full; updates the draft. */
async function* pagesOf(
  pages: AsyncIterable<LogPage>,
  { first, limits }: DraftWanted,
  draft: Draft,
): AsyncGenerator<ArchivedRow[]> {
  let characters = 0;
  let month = { fromUs: 0, beforeUs: 0 };
  for await (const page of pages) {
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

/** The pages of the part. PostgreSQL reads the next one while one is worked on. */
async function* readAhead(
  owner: Owner,
  { tenantId, first, limits, nowMs, ...wanted }: DraftWanted,
  pageMost: number,
): AsyncGenerator<LogPage> {
  const end = Math.min(wanted.end, first + limits.entries);
  const read = (from: number, entries: number): Promise<LogPage | null> => {
    if (from >= end) return Promise.resolve(null);
    const range = { start: from, end: Math.min(from + entries, end) };
    const page = owner((tx) => readLogPage(tx, tenantId, range, nowMs));
    page.catch(() => {}); // told when the page is wanted
    return page;
  };
  let next = read(first, pageEntries.first);
  try {
    for (let page = await next; page !== null; page = await next) {
      if (page.entries.length === 0) throw new Error(`the log has no entry ${page.start}`);
      const bodies = [...page.bodies.values()];
      const characters = bodies.reduce((sum, body) => sum + charactersOf(body), 0);
      const each = Math.max(1, characters / page.entries.length);
      const entries = Math.min(pageMost, Math.ceil(pageEntries.characters / each));
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
