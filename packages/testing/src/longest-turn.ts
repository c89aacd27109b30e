import { setImmediate } from 'node:timers/promises';

/**
 * The processor time of this thread while `work` runs, and the most of it between two turns of the
 * event loop: so long no other request is answered. In milliseconds.
 */
export async function turnsOf(work: () => Promise<unknown>) {
  let isDone = false;
  const working = work().finally(() => {
    isDone = true;
  });
  let [total, longest] = [0, 0];
  while (!isDone) {
    const before = process.threadCpuUsage();
    await setImmediate();
    const { user, system } = process.threadCpuUsage(before);
    total += (user + system) / 1_000;
    longest = Math.max(longest, (user + system) / 1_000);
  }
  await working;
  return { total, longest };
}
