import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { App } from '../../server/src/app.ts';
import { openNote, type SignedCheckpointText } from './open-note.ts';
import { callOn } from './service.ts';

/** The tenant's latest checkpoint, checked with the published keys. */
export async function checkpointOf(
  app: App,
  key: string,
): Promise<SignedCheckpointText & { note: string }> {
  const { status, text } = await callOn(app, { url: '/api/audit-logs/checkpoint', key });
  expect(status, text).toBe(200);
  return { ...openNote(text, await vkeyOf(app, text)), note: text };
}

/** The vkey line of the key in a note, as the service publishes it. */
export async function vkeyOf(app: App, note: string): Promise<string> {
  const [origin = ''] = note.split('\n', 1);
  const keyId = Buffer.from(/ (\S+)\n$/.exec(note)?.[1] ?? '', 'base64').subarray(0, 4);
  const url = `/.well-known/indelible-log.json?origin=${encodeURIComponent(origin)}`;
  const { body } = await callOn(app, { url, key: null });
  const vkeys: string[] = body.keys.map(({ vkey }: { vkey: string }) => vkey);
  const vkey = vkeys.find((each) => each.startsWith(`${origin}+${keyId.toString('hex')}+`));
  return vkey ?? `none of ${vkeys.join()} signed this`;
}

/** The rounds in an object store on disk: number and notes. */
export function publishedRounds(dataDir: string): { round: number; notes: string[] }[] {
  const folder = join(dataDir, 'objects/checkpoints');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const { round, notes } = JSON.parse(readFileSync(join(folder, name), 'utf8'));
      expect(name).toBe(`${String(round).padStart(12, '0')}.json`);
      return { round, notes };
    });
}
