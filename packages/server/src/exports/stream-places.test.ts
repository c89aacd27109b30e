import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { StreamPlaces } from './stream-places.ts';

const answer = () => new PassThrough().resume();
const answers = (count: number) => Array.from({ length: count }, answer);

test('who finds no place waits for one, in turn, and is refused when none becomes free', async () => {
  const places = new StreamPlaces(50);
  const sent = answers(8);
  for (const each of sent) await places.take('a', each);
  await places.take('b', answer());
  await expect(places.take('a', answer())).rejects.toMatchObject({
    code: 'rate_limited',
    headers: { 'retry-after': '5' },
  });
  const came: number[] = [];
  const later = answers(2);
  const waiting = later.map((each, n) => places.take('a', each).then(() => came.push(n)));
  sent[3]?.end();
  await waiting[0];
  expect(came).toEqual([0]);
  sent[4]?.destroy();
  await waiting[1];
  expect(came).toEqual([0, 1]);
  await expect(places.take('a', answer())).rejects.toThrow('8 exports are being sent');
});

test('who hangs up while waiting leaves the place to the next one', async () => {
  const places = new StreamPlaces(20_000);
  const sent = answers(8);
  for (const each of sent) await places.take('a', each);
  const [gone, stays] = answers(2);
  const waiting = [gone, stays].map((each) => each && places.take('a', each));
  gone?.destroy();
  sent[0]?.destroy();
  await Promise.all(waiting);
});
