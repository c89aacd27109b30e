import { expect, test } from 'vitest';
import { oneAtATime } from './one-at-a-time.ts';

test("a tenant's work waits for its own, in order, and for nobody else's; a failure holds up nothing", async () => {
  const inTurn = oneAtATime();
  const began: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<string>>();
  const start = (tenant: string, name: string) =>
    inTurn(tenant, () => {
      began.push(name);
      const gate = Promise.withResolvers<string>();
      gates.set(name, gate);
      return gate.promise;
    });
  const [a1, a2, a3] = [start('a', 'a1'), start('a', 'a2'), start('a', 'a3')];
  const b1 = start('b', 'b1');
  await expect.poll(() => began).toEqual(['a1', 'b1']);
  gates.get('a1')?.reject(new Error('away'));
  await expect(a1).rejects.toThrow('away');
  await expect.poll(() => began).toEqual(['a1', 'b1', 'a2']);
  gates.get('a2')?.resolve('done');
  expect(await a2).toBe('done');
  await expect.poll(() => began).toEqual(['a1', 'b1', 'a2', 'a3']);
  for (const name of ['a3', 'b1']) gates.get(name)?.resolve(name);
  expect(await Promise.all([a3, b1])).toEqual(['a3', 'b1']);
});
