import { type IndelibleClient, IndelibleError, type LogKeys } from '@indelible/client';
import type { Checkpoint, Findings } from '@indelible/protocol';
import type { TileSource } from './log-source.ts';
import {
  claimedCheckpoint,
  type Keys,
  keyWindowsOf,
  type SignedCheckpoint,
  trustedCheckpoint,
} from './trusted-checkpoint.ts';

/** A checkpoint of everything recorded so far; if the service cannot sign one, the latest. */
export async function newestCheckpoint(client: IndelibleClient): Promise<Uint8Array> {
  try {
    return await client.log.checkpoint({ fresh: true });
  } catch (error) {
    // Busy, without its object store, or damaged: what is already signed says more.
    if (!(error instanceof IndelibleError) || error.status < 500) throw error;
    return client.log.checkpoint();
  }
}

/** The checkpoint of a note if its signature is valid; otherwise null, and a finding. */
export async function checkpointOf(
  note: Uint8Array,
  client: IndelibleClient,
  pinned: readonly string[],
  findings: Findings,
): Promise<SignedCheckpoint | null> {
  return trustedCheckpoint(note, await keysFor(client, note, pinned), findings);
}

/** The pinned keys, else those that the service states for a note's origin. */
export async function keysFor(
  client: IndelibleClient,
  note: Uint8Array,
  pinned: readonly string[],
): Promise<Keys> {
  const claimed = claimedCheckpoint(note);
  const keys = claimed === null ? [] : await statedKeys(client, claimed.origin);
  const windows = keyWindowsOf(keys);
  if (pinned.length > 0) return { source: 'pinned', vkeys: [...pinned], windows };
  return { source: 'service', vkeys: keys.map(({ vkey }) => vkey), windows };
}

async function statedKeys(client: IndelibleClient, origin: string) {
  const stated = await client.log.keys(origin).catch((error: unknown) => {
    // A foreign origin has no keys.
    if (error instanceof IndelibleError && error.code === 'invalid_parameter') return { keys: [] };
    throw error;
  });
  // Accepts only members with the form of a key.
  const { keys } = stated as { keys?: unknown };
  const isKey = (key: unknown): key is LogKeys['keys'][number] =>
    typeof (key as { vkey?: unknown } | null)?.vkey === 'string';
  return Array.isArray(keys) ? keys.filter(isKey) : [];
}

/** The log id within an origin, `<host>/l/<32 hex>`. */
export function logIdOf({ origin }: Checkpoint): string {
  return /\/l\/([0-9a-f]{32})$/.exec(origin)?.[1] ?? '';
}

export function serviceTiles(
  client: IndelibleClient,
  { checkpoint }: SignedCheckpoint,
): TileSource {
  const logId = logIdOf(checkpoint);
  // The lowest hash tiles are computed from the entries on request, so they cannot differ.
  const tile = (path: string) => client.log.tile(logId, path).catch(nullWhenFailed);
  return { tile, tilesAtOnce: 8, lowestKeptLevel: 1 };
}

/**
 * Null if the service fails instead of proving something: its data may be damaged. Throws other
 * errors, such as a busy or unavailable service.
 */
export function nullWhenFailed(error: unknown): null {
  const isAnswer = error instanceof IndelibleError;
  if (isAnswer && (error.status === 500 || error.code === 'log_damaged')) return null;
  throw error;
}
