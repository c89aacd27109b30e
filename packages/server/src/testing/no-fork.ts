import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readNote } from '../log/round.ts';

interface Signed {
  round: number;
  size: number;
  root: string;
}

/**
 * Every checkpoint in the rounds of an object store on disk, by origin, in the order of rounds. A
 * log may only grow: a later checkpoint of an origin that has fewer entries than an earlier one, or
 * as many with another root, is a fork.
 */
export function expectNoFork(dataDir: string): void {
  const byOrigin = new Map<string, Signed[]>();
  const folder = join(dataDir, 'objects/checkpoints');
  for (const name of readdirSync(folder).sort()) {
    const { round, notes } = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    for (const note of notes) {
      const { origin, size, root } = readNote(note).checkpoint;
      const signed = byOrigin.get(origin) ?? [];
      signed.push({ round, size, root: Buffer.from(root).toString('hex') });
      byOrigin.set(origin, signed);
    }
  }
  for (const [origin, signed] of byOrigin) {
    for (const [at, later] of signed.entries()) {
      const earlier = signed[at - 1];
      if (earlier === undefined) continue;
      expect(later.size, sentence(origin, earlier, later)).toBeGreaterThanOrEqual(earlier.size);
      if (later.size === earlier.size) {
        expect(later.root, sentence(origin, earlier, later)).toBe(earlier.root);
      }
    }
  }
}

const sentence = (origin: string, earlier: Signed, later: Signed) =>
  `${origin}: ${earlier.size} entries in round ${earlier.round}, ${later.size} in ${later.round}`;
