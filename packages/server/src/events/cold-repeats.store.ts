import { isLate, uuidTimeMs } from '@indelible/protocol';
import type { Parts } from '../parts.ts';
import { readTenant } from '../postgres/db.ts';
import { type Appended, asRepeat } from './append.store.ts';
import { coldEventsById } from './cold.store.ts';
import type { PreparedEvent } from './prepared-event.ts';
import { visibility } from './store.ts';

/**
 * The outcomes of events whose ids are in the archive alone. Only what happened a day ago can be
 * there. It is looked for before the log is locked: the object store may take long.
 */
export async function coldRepeats(
  { db, now }: Pick<Parts, 'db' | 'now'>,
  events: readonly PreparedEvent[],
): Promise<Map<PreparedEvent, Appended>> {
  const outcomes = new Map<PreparedEvent, Appended>();
  const old = events.filter(({ uuid }) => isLate(uuidTimeMs(uuid), now()));
  for (const [tenantId, some] of Map.groupBy(old, (event) => event.tenantId)) {
    const sent = Map.groupBy(some, ({ uuid }) => uuid);
    await readTenant(db, tenantId, async (tx) => {
      const visible = await visibility(tx, now());
      if (visible === null) return;
      for await (const rows of coldEventsById([...sent.keys()], visible))
        for (const row of rows)
          for (const event of sent.get(row.uuid) ?? []) outcomes.set(event, asRepeat(event, row));
    });
  }
  return outcomes;
}
