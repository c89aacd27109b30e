import { uuidTimeMs } from '@indelible/protocol';
import { type ArchivedBody, type ArchivedRow, rowOf } from '../cold/archived-row.ts';
import { monthAround } from '../cold/layout.ts';
import type { PartLimits } from '../cold/part.ts';
import { sha } from '../crypto/sha256.ts';
import type { OwnerSession } from '../postgres/db.ts';
import { eachEntry, shownOf, type TakeEntry } from './store.ts';
import { PartWriter, type WrittenPart } from './write-part.ts';

/**
 * A page is one statement, whose rows are taken as they come. Rows behind the end of the part are
 * read in vain: few, if they are as long as the ones before, and `most` at most.
 */
const pageEntries = { first: 256, most: 8_192 };

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

/** Reads the entries and events of a part, and makes its files. */
export async function draftPart(owner: Owner, wanted: DraftWanted): Promise<DraftedPart> {
  const { tenantId, first, limits, nowMs } = wanted;
  const { oldest } = await owner((tx) => shownOf(tx, tenantId, nowMs));
  const part = new GrowingPart(wanted, oldest, await PartWriter.open());
  const end = Math.min(wanted.end, first + limits.entries);
  for (let start = first; start < end && !part.isFull; start = part.draft.last + 1) {
    const range = { start, end: Math.min(end, start + part.entriesLeft()), oldest };
    await owner((tx) => eachEntry(tx, tenantId, range, part.take));
  }
  return { draft: part.draft, ...part.end() };
}

const emptyDraft = { firstReceivedUs: 0, events: 0, contradicted: 0, erased: 0 };

/** Takes entries until the part is full, and passes over the others. */
class GrowingPart {
  readonly draft: Draft;
  isFull = false;
  readonly #limits: PartLimits;
  readonly #writer: PartWriter;
  #characters = 0;
  #month = { fromUs: 0, beforeUs: 0 };

  constructor({ first, limits }: DraftWanted, oldest: string, writer: PartWriter) {
    this.draft = { ...emptyDraft, first, last: first - 1, oldestMs: uuidTimeMs(oldest) };
    this.#limits = limits;
    this.#writer = writer;
  }

  /** How many it would take of events as long as those before. */
  entriesLeft(): number {
    const { first, last } = this.draft;
    if (last < first) return pageEntries.first;
    const each = Math.max(1, this.#characters / (last + 1 - first));
    const left = (this.#limits.characters - this.#characters) / each;
    return Math.min(pageEntries.most, Math.max(1, Math.ceil(left)));
  }

  readonly take: TakeEntry = (sequence, entry, body) => {
    if (this.isFull) return;
    const row = rowOf(sha, sequence, entry, body);
    if (sequence === this.draft.first) {
      this.draft.firstReceivedUs = row.receivedAtUs;
      this.#month = monthAround(row.receivedAtUs);
    }
    const isOther =
      row.receivedAtUs < this.#month.fromUs || row.receivedAtUs >= this.#month.beforeUs;
    this.isFull = isOther || this.#characters >= this.#limits.characters;
    if (this.isFull) return;
    this.#writer.append(row);
    this.#characters += charactersOf(row.body);
    count(this.draft, row);
  };

  end(): WrittenPart {
    return this.#writer.end();
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
