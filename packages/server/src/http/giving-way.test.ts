import { expect, test } from 'vitest';
import { givingWay } from './giving-way.ts';

test('only one of many calls with long work does a piece before others are answered', async () => {
  let [pieces, most, isOver] = [0, 0, false];
  const answerOthers = () => {
    most = Math.max(most, pieces);
    pieces = 0;
    if (!isOver) setImmediate(answerOthers);
  };
  setImmediate(answerOthers);
  const work = async () => {
    const giveWay = givingWay();
    for (let piece = 0; piece < 3; piece++) {
      await giveWay();
      pieces += 1;
      for (const began = performance.now(); performance.now() - began < 11; );
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  isOver = true;
  expect(most).toBe(1);
});
