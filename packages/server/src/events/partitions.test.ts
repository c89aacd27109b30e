import { expect, test } from 'vitest';
import { createPartitionKeeper } from './partitions.ts';

const head = {
  ...{ tenantId: '', retentionClass: 1, size: 0, otherClasses: [], lastReceivedUs: 0 },
  frontier: new Uint8Array(),
};
const batch = { head, events: [{ uuid: '01890000-0000-7000-8000-000000000000' }] };

test('partitions that could not be told before the commit are told after it, before the answer', async () => {
  const answers = [false, false, true];
  const keeper = createPartitionKeeper(
    async () => {},
    async () => answers.shift() ?? true,
  );
  await keeper.ensure([batch], 0);
  expect(answers).toEqual([false, true]);
  await keeper.told();
  expect(answers).toEqual([]);
});
