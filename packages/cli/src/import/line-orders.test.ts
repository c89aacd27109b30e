import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { LineOrders } from './line-orders.ts';

const digestOf = (text: string): Uint8Array => hash('sha256', text, 'buffer');

test('lines count from 0 for each tenant and timestamp, and a repeated line keeps its position', () => {
  const orders = new LineOrders();
  const of = (tenant: string, timeMs: number, line: string) =>
    orders.of(tenant, timeMs, digestOf(line));
  expect([of('a', 1, 'x'), of('b', 1, 'x'), of('a', 2, 'x'), of('a', 1, 'y')]).toEqual([
    0, 0, 0, 1,
  ]);
  expect([of('a', 1, 'z'), of('a', 1, 'x'), of('a', 1, 'y')]).toEqual([2, 0, 1]);
});

test('lines beyond the 12 bits of one timestamp come behind all others, and none wraps around', () => {
  const orders = new LineOrders();
  const found = Array.from({ length: 4_100 }, (_, n) => orders.of('a', 1, digestOf(`${n}`)));
  expect(found).toEqual(found.map((_, n) => Math.min(n, 4_095)));
});
