import { sha } from '../crypto/sha256.ts';
import { RecentMap } from '../http/recent-map.ts';
import type { OwnEvent, RecordQueued } from '../own-event.ts';

/**
 * Records an operator's access in the tenant's log; resolves after the commit. `credential` names
 * what the operator was let in with.
 */
export type RecordAccess = (tenantId: string, event: OwnEvent, credential: string) => Promise<void>;

const standsForMs = 15 * 60_000;
/** A forgotten look costs a further record. */
const rememberedMax = 10_000;

/** Whether the tenant's log has this event. */
type IsRecorded = (tenantId: string, uuid: string) => Promise<boolean>;

interface RecordedLook {
  atMs: number;
  /** The record's UUID, after the commit. */
  recorded: Promise<string>;
}

/**
 * Writes one record for a look, not one for each request. An access is recorded unless this process
 * has recorded the equal event of the same credential in the last 15 minutes, and the log still has
 * that event. (A restored database may have lost it.) Nothing but its own commits counts, so
 * several processes write a record each. Equal accesses at the same time wait for one commit; if
 * that fails, none is answered and the next one records again.
 */
export function recordLooks(
  record: RecordQueued,
  isRecorded: IsRecorded,
  now: () => number,
): RecordAccess {
  const looks = new RecentMap<RecordedLook>(rememberedMax);
  // A clock that was set back ends a record's time, or it would stand for longer.
  const stands = (atMs: number) => atMs <= now() && now() < atMs + standsForMs;
  return async (tenantId, event, credential) => {
    const key = keyOf([tenantId, event, credential]);
    for (let known = looks.get(key); known && stands(known.atMs); known = looks.get(key)) {
      if (await isRecorded(tenantId, await known.recorded)) return;
      if (looks.get(key) === known) looks.delete(key);
    }
    const look = { atMs: now(), recorded: record(tenantId, event) };
    looks.set(key, look);
    look.recorded.catch(() => looks.get(key) === look && looks.delete(key));
    await look.recorded;
  };
}

/** A key of fixed size, whatever an operator searches for. */
function keyOf(parts: unknown): string {
  return Buffer.from(sha(Buffer.from(JSON.stringify(parts)))).toString('base64');
}
