import { once } from 'node:events';
import { expect, test } from 'vitest';
import { unexpected } from '../http/errors.ts';
import { createWarning, Hold } from './hold.ts';

const busy = (retryAfterMs: number) => unexpected(503, 'busy', { retryAfterMs });

test.each(['all', 'tenants'] as const)(
  'an event to be sent again (%s) waits as long as the service asks, and a minute at most',
  (scope) => {
    for (const [askedMs, leastMs] of [
      [20_000, 20_000],
      [86_400_000, 60_000],
      [Number.POSITIVE_INFINITY, 60_000],
    ] as const) {
      const trouble = { kind: 'away', scope, error: busy(askedMs) } as const;
      const ms = new Hold().after(trouble, () => ['a'], 0);
      expect(ms).toBeGreaterThanOrEqual(leastMs);
      expect(ms).toBeLessThanOrEqual(leastMs + 10_000);
    }
  },
);

test('a warning is printed once in ten seconds', async () => {
  const printed: string[] = [];
  const listen = ({ message }: Error) => printed.push(message);
  process.on('warning', listen);
  const warn = createWarning();
  for (const each of ['first', 'second', 'third']) warn(each);
  const last = once(process, 'warning');
  process.emitWarning('the end');
  await last;
  process.off('warning', listen);
  expect(printed).toEqual(['first', 'the end']);
});
