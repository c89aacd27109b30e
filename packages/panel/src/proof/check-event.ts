import { type AuditEvent, type EventVerdict, type LogKeys, verifyEvent } from '@indelible/client';
import { client } from '../api.ts';

const known = new Map<string, Promise<LogKeys>>();

/** The keys that sign for an origin, requested once. */
export function keysOf(origin: string): Promise<LogKeys> {
  const keys = known.get(origin) ?? client.log.keys(origin);
  known.set(origin, keys);
  keys.catch(() => known.delete(origin));
  return keys;
}

/** Fetches the proof of an event and checks it here, and that the proven event is the shown one. */
export function checkEvent(shown: AuditEvent): Promise<EventVerdict> {
  return verifyEvent({ log: { proof: client.log.proof, keys: keysOf } }, shown);
}
