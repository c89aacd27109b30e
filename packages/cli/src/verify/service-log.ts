import { type IndelibleClient, IndelibleError, type LogKeys } from '@indelible/client';
import type { Checkpoint, Findings } from '@indelible/protocol';
import { keyWindowsOf } from './key-windows.ts';
import type { TileSource } from './log-source.ts';
import {
  claimedOrigin,
  type Keys,
  type SignedCheckpoint,
  trustedCheckpoint,
} from './trusted-checkpoint.ts';

/**
 * Lets the service sign a checkpoint of everything recorded so far, by requesting the proof of a
 * new event. If it cannot, or nothing is new, the latest checkpoint remains.
 */
export async function askForCheckpoint(client: IndelibleClient, size: number): Promise<void> {
  try {
    if ((await client.log.consistency(size + 1, size + 1)) === null) return;
    const newest = { sort: 'sequence', order: 'desc', limit: 1 } as const;
    for await (const { id } of client.list(newest)) {
      await client.log.proof(id, { attempts: 1 });
      return;
    }
  } catch (error) {
    // Busy, without its object store, or damaged: verify what is already signed.
    if (!(error instanceof IndelibleError) || error.status === 403) throw error;
  }
}

/** The latest checkpoint if its signature is valid; otherwise null, and a finding. */
export async function latestCheckpoint(
  client: IndelibleClient,
  pinned: readonly string[],
  findings: Findings,
): Promise<SignedCheckpoint | null> {
  const note = await client.log.checkpoint();
  return trustedCheckpoint(note, await keysFor(client, note, pinned), findings);
}

/** The pinned keys, else those that the service states for a note's origin. */
export async function keysFor(
  client: IndelibleClient,
  note: Uint8Array,
  pinned: readonly string[],
): Promise<Keys> {
  const origin = claimedOrigin(note);
  const keys = origin === null ? [] : await statedKeys(client, origin);
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
  return { tile, tilesAtOnce: 8, lowestKeptLevel: 1, isTailWhole: true };
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
