import { uuidTimeMs } from '@indelible/protocol';
import type { TenantBatch } from './store.ts';

/** A partition by one moment that lies in it. */
export interface PartitionWanted {
  retentionClass: number;
  timeMs: number;
}

/** Makes sure that an insert finds its partitions, so that a missing one never rejects an event. */
export interface PartitionKeeper {
  ensure(batches: readonly TenantBatch[]): Promise<void>;
  /** Forgets what exists, after an insert failed: retention may have dropped one meanwhile. */
  forget(): void;
}

/** `make` runs in a transaction of its own and does nothing for a partition that exists. */
export function createPartitionKeeper(
  make: (wanted: PartitionWanted[]) => Promise<void>,
): PartitionKeeper {
  const known = new Set<string>();
  return {
    async ensure(batches) {
      const missing = new Map<string, PartitionWanted>();
      for (const { head, events } of batches) {
        for (const event of events) {
          const timeMs = uuidTimeMs(event.uuid);
          const key = partitionKey(head.retentionClass, timeMs);
          if (!known.has(key)) missing.set(key, { retentionClass: head.retentionClass, timeMs });
        }
      }
      if (missing.size === 0) return;
      await make([...missing.values()]);
      for (const key of missing.keys()) known.add(key);
    },
    forget: () => known.clear(),
  };
}

/** Days for the starter class, months for the others, as make_partition cuts them. */
function partitionKey(retentionClass: number, timeMs: number): string {
  if (retentionClass === 0) return `0/${Math.floor(timeMs / 86_400_000)}`;
  const date = new Date(timeMs);
  return `${retentionClass}/${date.getUTCFullYear() * 12 + date.getUTCMonth()}`;
}
