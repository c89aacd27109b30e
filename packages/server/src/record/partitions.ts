import { uuidTimeMs } from '@indelible/protocol';
import type { LogHead } from '../log/sequencer.ts';
import { codeOf } from '../postgres/embedded/error-code.ts';
import { classOf } from './append.store.ts';

/** A partition, by a time in it. */
export interface PartitionWanted {
  retentionClass: number;
  timeMs: number;
}

/** New events of a tenant. */
interface Inserted {
  head: LogHead;
  events: readonly { uuid: string }[];
}

/** Makes the partitions of an insert, so that a missing one never rejects an event. */
export type PartitionKeeper = ReturnType<typeof createPartitionKeeper>;

/**
 * `make` runs in its own transaction and has no effect on an existing partition. It is called for
 * one partition at a time, so it needs only one connection. It does not run in the inserting
 * transaction, which would hold the locks until all events are written; a rollback would remove a
 * partition that others already use. `announce` follows once for all: it may take half a second.
 */
export function createPartitionKeeper(
  make: (wanted: PartitionWanted) => Promise<void>,
  announce: () => Promise<boolean> = async () => true,
) {
  const known = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();
  /** Others were attaching partitions: sessions may not know these. */
  let isUntold = false;

  async function makeMissing(missing: ReadonlyMap<string, PartitionWanted>): Promise<void> {
    // Others may have been made while this call waited.
    const wanted = [...missing].filter(([key]) => !known.has(key));
    for (const [, each] of wanted) await make(each);
    if (wanted.length > 0) isUntold = !(await announce());
    for (const [key] of wanted) known.add(key);
  }

  return {
    async ensure(batches: readonly Inserted[], nowMs: number): Promise<void> {
      const missing = missingOf(batches, nowMs, known);
      if (missing.size === 0) return;
      const made = last.then(() => makeMissing(missing));
      last = made.catch(() => {}); // the next call makes its partitions all the same
      await made;
    },
    /**
     * To be called after the commit, and before the answers: another transaction that attaches may
     * have waited for this commit, and then ends at once. If it goes on, or on an error, the events
     * are answered all the same, for they are stored; the next call tries again.
     */
    async told(): Promise<void> {
      if (isUntold) isUntold = !(await announce().catch(() => false));
    },
    /** Clears the cache, after an insert found a partition missing. */
    forget: () => known.clear(),
  };
}

/**
 * Whether an insert found no partition for its row; a failed check names a constraint instead, on a
 * node of a cluster in the message only.
 */
export function isMissingPartition(error: unknown): boolean {
  return (
    error instanceof Error &&
    codeOf(error) === '23514' &&
    !('constraint' in error && error.constraint) &&
    !/check constraint/.test(error.message)
  );
}

function missingOf(
  batches: readonly Inserted[],
  nowMs: number,
  known: ReadonlySet<string>,
): Map<string, PartitionWanted> {
  const missing = new Map<string, PartitionWanted>();
  for (const { head, events } of batches) {
    for (const event of events) {
      const wanted = {
        retentionClass: classOf(head, event, nowMs),
        timeMs: uuidTimeMs(event.uuid),
      };
      const key = partitionKey(wanted);
      if (!known.has(key)) missing.set(key, wanted);
    }
  }
  return missing;
}

/** The partitions of these events, each once. */
export function partitionsOf(
  events: readonly { uuid: string; retentionClass: number }[],
): PartitionWanted[] {
  const wanted = events.map(({ uuid, retentionClass }) => {
    return { retentionClass, timeMs: uuidTimeMs(uuid) };
  });
  return [...new Map(wanted.map((each) => [partitionKey(each), each])).values()];
}

/** Every partition holds whole days. */
function partitionKey({ retentionClass, timeMs }: PartitionWanted): string {
  return `${retentionClass}/${Math.floor(timeMs / 86_400_000)}`;
}
