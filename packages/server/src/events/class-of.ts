import { isLate, lateClass, uuidTimeMs } from '@indelible/protocol';
import { type LogHead, receivedUsOf } from '../log/store.ts';

/** The class of an event that is recorded now: an id that came late once always comes late. */
export function classOf(head: LogHead, { uuid }: { uuid: string }, nowMs: number): number {
  const receivedMs = receivedUsOf(head, nowMs) / 1_000;
  return isLate(uuidTimeMs(uuid), receivedMs) ? lateClass : head.retentionClass;
}
