import type { AuditEvent } from '@indelible/client';
import {
  type Checkpoint,
  compareCheckpoints,
  formatHex,
  formerCheckpoints,
  openCheckpoint,
  parseHex,
  portableSha256,
} from '@indelible/protocol';
import { client } from '../api.ts';
import { keep, kept } from '../browser-store.ts';
import { checkEvent, keysOf } from './check-event.ts';

/** The latest checkpoint, checked by this browser. */
export interface CheckedCheckpoint {
  note: string;
  isValid: boolean;
  /** Null if no known key has signed the note. */
  checkpoint: Checkpoint | null;
  rootHex: string;
  /** The newest key. */
  vkey: string;
  since: SinceLastVisit;
}

/** How the log relates to the checkpoint that this browser saw before. */
export type SinceLastVisit =
  | { kind: 'first' }
  | { kind: 'same' | 'extended' | 'older' | 'rewritten'; size: number }
  | { kind: 'otherLog'; origin: string }
  | ({ kind: 'continued' | 'lost'; origin: string; size: number } & Reopening);

/** The log's record that it continues another one. */
interface Reopening {
  eventId: string;
  /** Entries of the other log under its last checkpoint, and those of them that are left. */
  published: number;
  left: number;
}

export async function checkpointNow(tenantId: string): Promise<CheckedCheckpoint> {
  const bytes = await client.log.checkpoint();
  const note = new TextDecoder().decode(bytes);
  const { checkpoint, vkeys } = await opened(note);
  const rootHex = checkpoint === null ? '' : formatHex(checkpoint.root);
  const since: SinceLastVisit =
    checkpoint === null ? { kind: 'first' } : await compared(checkpoint, tenantId);
  const isValid = checkpoint !== null;
  return { note, isValid, checkpoint, rootHex, vkey: vkeys[0] ?? '', since };
}

/** Its checkpoint is null if no key that the service states for its origin has signed it. */
async function opened(note: string) {
  const { keys } = await keysOf(note.split('\n')[0] ?? '');
  const vkeys = keys.map(({ vkey }) => vkey);
  const verdict = await openCheckpoint(portableSha256, note, vkeys);
  return { checkpoint: verdict.code === 'valid' ? verdict.checkpoint : null, vkeys };
}

/** From now on the tenant's log is compared with this checkpoint. */
export function compareFromNow(shown: Checkpoint, tenantId: string): void {
  keepCheckpoint(keyOf(tenantId), shown);
}

const keyOf = (tenantId: string) => `indelible.checkpoint.${tenantId}`;

/**
 * Compares with the tenant's checkpoint that is stored in this browser; stores the newer one if it
 * extends that.
 */
async function compared(shown: Checkpoint, tenantId: string): Promise<SinceLastVisit> {
  const key = keyOf(tenantId);
  const seen = checkpointIn(kept(key));
  if (seen === null) {
    keepCheckpoint(key, shown);
    return { kind: 'first' };
  }
  if (seen.origin !== shown.origin) return afterReopening(seen, shown, tenantId);
  const { size } = seen;
  // An answer may be slightly older than the last one: it is valid if it is a prefix of it.
  const [first, second] = size <= shown.size ? [seen, shown] : [shown, seen];
  if (!(await isPrefix(first, second))) return { kind: 'rewritten', size };
  keepCheckpoint(key, second);
  if (shown.size < size) return { kind: 'older', size };
  return { kind: shown.size > size ? 'extended' : 'same', size };
}

/** How a log continues the one that this browser saw, if it has the service's record of that. */
async function afterReopening(
  { origin, size, root }: Checkpoint,
  shown: Checkpoint,
  tenantId: string,
): Promise<SinceLastVisit> {
  const reopening = await reopeningOf(origin, tenantId);
  if (reopening === null) return { kind: 'otherLog', origin };
  const { published, left } = reopening;
  const isLost = Math.min(published, left) < size;
  if (isLost) return { kind: 'lost', origin, size, ...reopening };
  // A reopened log has the same leaves, so only the name differs.
  const isKept = await isPrefix({ origin: shown.origin, size, root }, shown);
  return isKept ? { kind: 'continued', origin, size, ...reopening } : { kind: 'otherLog', origin };
}

async function reopeningOf(origin: string, tenantId: string): Promise<Reopening | null> {
  const query = { action: ['reopen'], resource: ['audit_log'], resourceId: [tenantId] };
  for await (const event of client.list({ ...query, includeState: true })) {
    const published = await publishedIn(event, origin);
    if (published) return { eventId: event.id, published: published.size, left: event.sequence };
  }
  return null;
}

/** The checkpoint of this origin in a record of the service that the log contains. */
async function publishedIn(event: AuditEvent, origin: string): Promise<Checkpoint | null> {
  if (event.recordedBy.kind !== 'service') return null;
  const note = formerCheckpoints(event.after ?? {}).find((text) => text.startsWith(`${origin}\n`));
  if (note === undefined || (await checkEvent(event)).code !== 'valid') return null;
  return (await opened(note)).checkpoint;
}

async function isPrefix(first: Checkpoint, second: Checkpoint): Promise<boolean> {
  const path = first.size === second.size ? [] : await pathBetween(first.size, second.size);
  const { code } = compareCheckpoints(portableSha256, first, second, path);
  return code === 'same' || code === 'extends';
}

/** A path that the service does not have proves nothing. */
async function pathBetween(first: number, second: number): Promise<Uint8Array[]> {
  const proof = await client.log.consistency(first, second);
  return (proof?.path ?? []).map((hash) => parseHex(hash) ?? new Uint8Array());
}

function checkpointIn(stored: unknown): Checkpoint | null {
  const { origin, size, rootHex } = (stored ?? {}) as Record<string, unknown>;
  const root = typeof rootHex === 'string' ? parseHex(rootHex) : null;
  const isWhole = typeof origin === 'string' && Number.isSafeInteger(size) && root;
  return isWhole ? { origin, size: Number(size), root } : null;
}

function keepCheckpoint(key: string, { origin, size, root }: Checkpoint): void {
  keep(key, { origin, size, rootHex: formatHex(root) });
}
