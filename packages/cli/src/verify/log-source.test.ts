import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inOrder } from './log-source.ts';

async function all<T>(results: AsyncGenerator<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const result of results) list.push(result);
  return list;
}

test('results come in order, whichever is ready first, with no more calls under way than allowed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(5)), fc.integer({ min: 1, max: 9 }), async (turns, atOnce) => {
      let running = 0;
      let most = 0;
      const get = async (index: number) => {
        running += 1;
        most = Math.max(most, running);
        for (let left = turns[index] ?? 0; left > 0; left -= 1) await turn();
        running -= 1;
        return index;
      };
      expect(await all(inOrder(turns.length, atOnce, get))).toEqual([...turns.keys()]);
      expect(most).toBeLessThanOrEqual(atOnce);
    }),
  );
});

test('the first error in order ends it, and no other one is left behind', async () => {
  const get = async (index: number) => {
    if (index >= 2) throw new Error(`call ${index}`);
    return index;
  };
  const seen: number[] = [];
  const run = async () => {
    for await (const index of inOrder(9, 8, get)) seen.push(index);
  };
  await expect(run()).rejects.toThrow('call 2');
  expect(seen).toEqual([0, 1]);
});
