import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { StreamSlots } from './stream-slots.ts';

const answer = () => new PassThrough().resume();
const answers = (count: number) => Array.from({ length: count }, answer);

test('who finds no slot waits for one, in turn, and is refused when none becomes free', async () => {
  const slots = new StreamSlots(50);
  const sent = answers(8);
  for (const each of sent) await slots.take('a', each);
  await slots.take('b', answer());
  await expect(slots.take('a', answer())).rejects.toMatchObject({
    code: 'rate_limited',
    headers: { 'retry-after': '5' },
  });
  const came: number[] = [];
  const later = answers(2);
  const waiting = later.map((each, n) => slots.take('a', each).then(() => came.push(n)));
  sent[3]?.end();
  await waiting[0];
  expect(came).toEqual([0]);
  sent[4]?.destroy();
  await waiting[1];
  expect(came).toEqual([0, 1]);
  await expect(slots.take('a', answer())).rejects.toThrow(
    '8 exports of this tenant are being sent',
  );
});

test('who hangs up while waiting leaves the slot to the next one', async () => {
  const slots = new StreamSlots(20_000);
  const sent = answers(8);
  for (const each of sent) await slots.take('a', each);
  const [gone, stays] = answers(2);
  const waiting = [gone, stays].map((each) => each && slots.take('a', each));
  gone?.destroy();
  sent[0]?.destroy();
  await Promise.all(waiting);
});
