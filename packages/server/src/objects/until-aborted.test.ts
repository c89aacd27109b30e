import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { untilAborted } from './until-aborted.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

async function* chunks(count: number) {
  for (let n = 0; n < count; n++) yield new Uint8Array(1024);
}

test('a stream that goes on keeps no chunk that its receiver has used', async () => {
  const stream = untilAborted(chunks(50), new AbortController().signal);
  const used: WeakRef<Uint8Array>[] = [];
  for (let n = 0; n < 49; n++) used.push(new WeakRef((await stream.next()).value as Uint8Array));
  await setImmediate(); // a WeakRef keeps its target until the turn ends
  collect();
  const kept = used.filter((each) => each.deref() !== undefined);
  expect(kept.length).toBeLessThanOrEqual(2);
  await stream.return();
});
