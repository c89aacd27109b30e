import { expect, test } from 'vitest';
import { createPartitionKeeper } from './partitions.ts';

const head = {
  tenantId: '',
  retentionClass: 1,
  size: 0,
  otherClasses: [],
  lastReceivedUs: 0,
  frontier: new Uint8Array(),
};
const batch = { head, events: [{ uuid: '01890000-0000-7000-8000-000000000000' }] };

test('partitions that could not be told before the commit are told after it, before the answer', async () => {
  const answers = [false, true];
  const keeper = createPartitionKeeper(
    async () => {},
    async () => answers.shift() ?? true,
  );
  await keeper.ensure([batch], 0);
  expect(answers).toEqual([true]);
  await keeper.told();
  expect(answers).toEqual([]);
});

test('a transaction that attaches for long delays each flush by one attempt, and the last one tells', async () => {
  let [isAttaching, attempts] = [true, 0];
  const announce = async () => {
    attempts += 1;
    return !isAttaching;
  };
  const keeper = createPartitionKeeper(async () => {}, announce);
  await keeper.ensure([batch], 0);
  for (const flush of [1, 2]) {
    await keeper.told();
    expect(attempts).toBe(1 + flush);
  }
  isAttaching = false;
  for (const _ of [1, 2]) await keeper.told();
  expect(attempts).toBe(4);
});
