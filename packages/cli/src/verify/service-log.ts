import { type IndelibleClient, IndelibleError } from '@indelible/client';
import type { Checkpoint, Findings } from '@indelible/protocol';
import type { TileSource } from './log-source.ts';
import {
  claimedOrigin,
  type Keys,
  type SignedCheckpoint,
  trustedCheckpoint,
} from './trusted-checkpoint.ts';

/** The latest checkpoint, once its signature is found good; otherwise null, and a finding. */
export async function latestCheckpoint(
  client: IndelibleClient,
  pinned: readonly string[],
  findings: Findings,
): Promise<SignedCheckpoint | null> {
  const note = await client.log.checkpoint();
  return trustedCheckpoint(note, await keysFor(client, note, pinned), findings);
}

/** The keys that were pinned, else those the service states for the origin of a note. */
export async function keysFor(
  client: IndelibleClient,
  note: Uint8Array,
  pinned: readonly string[],
): Promise<Keys> {
  if (pinned.length > 0) return { source: 'pinned', vkeys: [...pinned] };
  const origin = claimedOrigin(note);
  if (origin === null) return { source: 'service', vkeys: [] };
  const stated = await client.log.keys(origin).catch((error: unknown) => {
    // An origin that is none of the service's has no keys.
    if (error instanceof IndelibleError && error.code === 'invalid_parameter') return { keys: [] };
    throw error;
  });
  return { source: 'service', vkeys: stated.keys.map(({ vkey }) => vkey) };
}

/** The log id within an origin, `<host>/l/<32 hex>`. */
export function logIdOf({ origin }: Checkpoint): string {
  return /\/l\/([0-9a-f]{32})$/.exec(origin)?.[1] ?? '';
}

/** The tiles of a log as the service serves them. */
export function serviceTiles(
  client: IndelibleClient,
  { checkpoint }: SignedCheckpoint,
): TileSource {
  const logId = logIdOf(checkpoint);
  // The lowest hash tiles are made of the entries when they are asked for: they could not differ.
  return { tile: (path) => client.log.tile(logId, path), tilesAtOnce: 8, lowestKeptLevel: 1 };
}

/**
 * Null where the service fails instead of proving something: what it would prove it with may be
 * damaged. Anything else is thrown, as when it is busy or away.
 */
export function nullWhenFailed(error: unknown): null {
  if (error instanceof IndelibleError && error.status === 500) return null;
  throw error;
}
