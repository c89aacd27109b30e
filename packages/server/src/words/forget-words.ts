import type { CommittedEvent } from '@indelible/protocol';
import type { OwnerSession, WriterTx } from '../postgres/db.ts';
import { blockWords } from './block-words.ts';
import {
  type BlockIds,
  blocksWithGoneEvents,
  blocksWithSequences,
  deleteBlocks,
  listsInBlocks,
  lockWords,
  replaceList,
  setOldest,
  storedAmong,
} from './store.ts';
import { listsOf, rankOf, rewritten, uuidAt, uuidLength } from './word-block.ts';
import { listOf } from './word-lists.ts';

/* Runs as the owner: what is erased or removed must leave the words too. */

/** An event before and after an erasure. */
export interface ErasedWords {
  sequence: number;
  uuid: string;
  before: CommittedEvent;
  after: CommittedEvent;
}

/** Removes the words that these events no longer have, in the transaction of their erasure. */
export async function eraseWords(
  tx: WriterTx,
  tenantId: string,
  events: readonly ErasedWords[],
): Promise<void> {
  // The lock waits for a process that has read the events and puts their words into a block.
  await lockWords(tx, tenantId, true);
  const sequences = events.map(({ sequence }) => sequence);
  for (const block of await blocksWithSequences(tx, tenantId, sequences)) {
    const { first, entries, ids } = block;
    const gone = new Map<number, Set<string>>();
    for (const { sequence, uuid, before, after } of events) {
      if (sequence < first || sequence >= first + entries) continue;
      const [had, left] = [blockWords(before), blockWords(after)];
      gone.set(rankOf(ids, uuid), new Set([...had].filter((word) => !left.has(word))));
    }
    const words = [...gone.values()].flatMap((each) => [...each]);
    const touched = new Set(words.map((word) => listOf(word, listsOf(entries))));
    const isGone = (word: string, offset: number) => gone.get(offset)?.has(word) === true;
    await rewriteLists(tx, tenantId, block, [...touched], isGone);
  }
}

/**
 * Removes the words of events that retention has removed, block by block; returns the number of
 * blocks. Looks only for blocks whose oldest event is gone: within a block events expire in order.
 */
export async function removeExpiredWords(
  owner: OwnerSession,
  atMs: number,
  stopping?: AbortSignal,
): Promise<number> {
  const blocks = await blocksWithGoneEvents(owner, atMs);
  for (const { tenantId, first } of blocks) {
    stopping?.throwIfAborted();
    await owner.transaction((tx) => removeGone(tx, tenantId, first));
  }
  return blocks.length;
}

async function removeGone(tx: WriterTx, tenantId: string, first: number): Promise<void> {
  await lockWords(tx, tenantId, true);
  // The block may have become part of a larger one meanwhile.
  const [block] = await blocksWithSequences(tx, tenantId, [first]);
  if (block === undefined) return;
  const uuids = Array.from({ length: block.ids.length / uuidLength }, (_, at) =>
    uuidAt(block.ids, at),
  );
  const stored = await storedAmong(tx, tenantId, uuids);
  const oldest = uuids.find((uuid) => stored.has(uuid));
  if (oldest === undefined) return deleteBlocks(tx, tenantId, block.first, block.first + 1);
  const isGone = (_word: string, offset: number) => !stored.has(uuids[offset] ?? '');
  await rewriteLists(tx, tenantId, block, null, isGone);
  await setOldest(tx, tenantId, block.first, oldest);
}

/** Removes all words of a tenant whose events are removed. */
export async function removeAllWords(tx: WriterTx, tenantId: string): Promise<void> {
  await lockWords(tx, tenantId, true);
  await deleteBlocks(tx, tenantId, 0, Number.MAX_SAFE_INTEGER);
}

async function rewriteLists(
  tx: WriterTx,
  tenantId: string,
  { first, entries }: BlockIds,
  lists: readonly number[] | null,
  isGone: (word: string, offset: number) => boolean,
): Promise<void> {
  for (const { list, words } of await listsInBlocks(tx, tenantId, lists, first, first + 1)) {
    const left = rewritten(words, entries, isGone);
    if (left === null || !left.equals(words)) await replaceList(tx, tenantId, first, list, left);
  }
}
