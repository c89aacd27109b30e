import { randomFillSync } from 'node:crypto';

const poolBytes = 16 * 1024;

/**
 * Random bytes, drawn from the system 16 KiB at a time: one call an event would take as long as
 * hashing it. No byte is used twice; each is wiped from the pool when it is returned.
 */
export function createRandom(): (bytes: number) => Uint8Array {
  const pool = new Uint8Array(poolBytes);
  let used = poolBytes;
  return (bytes) => {
    if (bytes > poolBytes) return randomFillSync(new Uint8Array(bytes));
    if (used + bytes > poolBytes) {
      randomFillSync(pool);
      used = 0;
    }
    const taken = pool.slice(used, used + bytes);
    pool.fill(0, used, used + bytes);
    used += bytes;
    return taken;
  };
}
