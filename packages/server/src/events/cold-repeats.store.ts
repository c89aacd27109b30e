import { isLate, uuidTimeMs } from '@indelible/protocol';
import type { Parts } from '../parts.ts';
import { readTenant } from '../postgres/index.ts';
import { coldEventsById } from './cold.store.ts';
import type { PreparedEvent } from './prepared-event.ts';
import { type Appended, asRepeat, visibility } from './store.ts';

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
    const found = await readTenant(db, tenantId, async (tx) => {
      const visible = await visibility(tx, now());
      const uuids = [...new Set(some.map(({ uuid }) => uuid))];
      return visible === null ? [] : coldEventsById(tx, uuids, visible);
    });
    const stored = new Map(found.map((row) => [row.uuid, row]));
    for (const event of some) {
      const row = stored.get(event.uuid);
      if (row) outcomes.set(event, asRepeat(event, row));
    }
  }
  return outcomes;
}
