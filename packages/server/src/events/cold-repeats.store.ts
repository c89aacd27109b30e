import { isLate, uuidTimeMs } from '@indelible/protocol';
import { AppError } from '../http/problem.ts';
import type { Parts } from '../parts.ts';
import { readTenant } from '../postgres/db.ts';
import { rejected } from './admission.ts';
import { asRepeat } from './append.store.ts';
import { coldEventsById } from './cold.store.ts';
import type { PreparedEvent } from './prepared-event.ts';
import type { Outcome } from './record-queue.ts';
import { visibility } from './store.ts';

const notCompared = rejected(
  'unavailable',
  'the archive, which may have this event, cannot be read; retry with the same id',
);

/**
 * The outcomes of events that only the archive can have. Only what happened a day ago can be there.
 * It is looked for before the log is locked: the object store may take long. Without it such an
 * event is refused for now, and no other.
 */
export async function coldRepeats(
  { db, now, observer }: Pick<Parts, 'db' | 'now'> & { observer: { failed(error: unknown): void } },
  events: readonly PreparedEvent[],
): Promise<Map<PreparedEvent, Outcome>> {
  const outcomes = new Map<PreparedEvent, Outcome>();
  const old = events.filter(({ uuid }) => isLate(uuidTimeMs(uuid), now()));
  for (const [tenantId, late] of Map.groupBy(old, (event) => event.tenantId)) {
    await readTenant(db, tenantId, async (tx) => {
      const visible = await visibility(tx, now());
      const before = visible?.coldBefore ?? '';
      const some = late.filter(({ uuid }) => uuid < before);
      if (visible === null || some.length === 0) return;
      const sent = Map.groupBy(some, ({ uuid }) => uuid);
      try {
        for await (const rows of coldEventsById([...sent.keys()], visible))
          for (const row of rows)
            for (const event of sent.get(row.uuid) ?? []) outcomes.set(event, asRepeat(event, row));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        observer.failed(error);
        for (const event of some) outcomes.set(event, outcomes.get(event) ?? notCompared);
      }
    });
  }
  return outcomes;
}
