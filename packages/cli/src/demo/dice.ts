import { uuidFromBytes } from '@indelible/protocol';

export type Dice = ReturnType<typeof createDice>;

/**
 * Repeatable random numbers: the same seed gives the same values on every machine. The mulberry32
 * generator; never for secrets.
 */
export function createDice(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** A whole number from `min` to `max`, inclusive. */
  const whole = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  const bytes = (length: number) => Uint8Array.from({ length }, () => whole(0, 255));
  return {
    whole,
    chance: (probability: number) => next() < probability,
    pick: <T>(choices: readonly [T, ...T[]]): T =>
      choices[whole(0, choices.length - 1)] ?? choices[0],
    bytes,
    /** A random UUID (version 4). */
    uuid() {
      const id = bytes(16);
      id[6] = ((id[6] ?? 0) & 0x0f) | 0x40;
      id[8] = ((id[8] ?? 0) & 0x3f) | 0x80;
      return uuidFromBytes(id);
    },
  };
}
