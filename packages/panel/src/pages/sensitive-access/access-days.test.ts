import { expect, test } from 'vitest';
import { heatStep, isUnusual, peopleOf } from './access-days.ts';

const row = (email: string | null, day: number, count: number) => ({
  user: `id-of-${email}`,
  email,
  day,
  count,
});

test('one row a person, whoever accessed most first, whatever the case of their address', () => {
  const people = peopleOf([
    row('Bo@example.com', 1, 2),
    row('ana@example.com', 1, 3),
    row('bo@example.com', 2, 4),
    row(null, 1, 1),
  ]);
  expect(people.map(({ user, total }) => [user, total])).toEqual([
    ['bo@example.com', 6],
    ['ana@example.com', 3],
    ['id-of-null', 1],
  ]);
  expect(people[0]?.counts.get(2)).toBe(4);
});

test('a burst stands out against the same person, and everyday work does not', () => {
  const [calm] = peopleOf([row('a@b.c', 1, 3), row('a@b.c', 2, 4), row('a@b.c', 3, 74)]);
  const [busy] = peopleOf([row('a@b.c', 1, 60), row('a@b.c', 2, 66), row('a@b.c', 3, 74)]);
  expect(calm && isUnusual(74, calm)).toBe(true);
  expect(calm && isUnusual(4, calm)).toBe(false);
  expect(busy && isUnusual(74, busy)).toBe(false);
});

test('the scale has a step of its own for nothing, and ends', () => {
  expect([0, 1, 3, 9, 27, 81, 10_000].map(heatStep)).toEqual([0, 1, 2, 3, 4, 5, 5]);
});
