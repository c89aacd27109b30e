import { uuidTimeMs } from '@indelible/protocol';
import { sha } from '../crypto/sha256.ts';
import type { OwnerSession } from '../postgres/db.ts';
import { type ArchivedBody, type ArchivedRow, rowOf } from './archived-row.ts';
import { eventColumns, identityColumns } from './columns.ts';
import { monthAround } from './layout.ts';
import type { PartLimits } from './part.ts';
import { eachEntry, shownOf, type TakeEntry } from './store.ts';

/**
 * A page is one statement, whose rows are taken as they come. Rows behind the end of the part are
 * read in vain: few, if they are as long as the ones before, and `most` at most.
 */
const pageEntries = { first: 256, most: 8_192 };

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

/** Reads the entries and events of a part, and makes its files. */
export async function draftPart(owner: Owner, wanted: DraftWanted): Promise<DraftedPart> {
  const { tenantId, first, limits, nowMs } = wanted;
  const { oldest } = await owner((tx) => shownOf(tx, tenantId, nowMs));
  const writer = await openPartWriter();
  const part = growingPart(wanted, oldest, writer.append);
  const end = Math.min(wanted.end, first + limits.entries);
  for (let start = first; start < end && !part.isFull(); start = part.draft.last + 1) {
    const range = { start, end: Math.min(end, start + part.entriesLeft()), oldest };
    await owner((tx) => eachEntry(tx, tenantId, range, part.take));
  }
  return { draft: part.draft, ...writer.end() };
}

const emptyDraft = { firstReceivedUs: 0, events: 0, contradicted: 0, erased: 0 };

/** Takes entries until the part is full, and passes over the others. */
function growingPart(
  { first, limits }: DraftWanted,
  oldest: string,
  append: (row: ArchivedRow) => void,
) {
  const oldestMs = uuidTimeMs(oldest);
  const draft: Draft = { ...emptyDraft, first, last: first - 1, oldestMs };
  let isFull = false;
  let characters = 0;
  let month = { fromUs: 0, beforeUs: 0 };
  const take: TakeEntry = (sequence, entry, body) => {
    if (isFull) return;
    const row = rowOf(sha, sequence, entry, body);
    const { receivedAtUs } = row;
    if (sequence === first) {
      draft.firstReceivedUs = receivedAtUs;
      month = monthAround(receivedAtUs);
    }
    const isOther = receivedAtUs < month.fromUs || receivedAtUs >= month.beforeUs;
    isFull = isOther || characters >= limits.characters;
    if (isFull) return;
    append(row);
    characters += charactersOf(row.body);
    count(draft, row);
  };
  return {
    draft,
    take,
    isFull: () => isFull,
    /** How many it would take of events as long as those before. */
    entriesLeft(): number {
      if (draft.last < first) return pageEntries.first;
      const each = Math.max(1, characters / (draft.last + 1 - first));
      const left = (limits.characters - characters) / each;
      return Math.min(pageEntries.most, Math.max(1, Math.ceil(left)));
    },
  };
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

/** The two Parquet files of a part. */
interface WrittenPart {
  events: Uint8Array;
  identity: Uint8Array;
}

/**
 * Writes rows, in order, as the files of a part. The same rows give the same bytes, so that after a
 * lost answer an upload can be recognised.
 */
export async function openPartWriter() {
  // Only here: a start of the service does not load the library.
  const { ParquetFile } = await import('./parquet-file.ts');
  const [events, identity] = [new ParquetFile(eventColumns), new ParquetFile(identityColumns)];
  return {
    append(row: ArchivedRow): void {
      events.append(row);
      identity.append(row);
    },
    end: (): WrittenPart => ({ events: events.end(), identity: identity.end() }),
  };
}
