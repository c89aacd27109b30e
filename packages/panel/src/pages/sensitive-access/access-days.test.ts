import { expect, test } from 'vitest';
import { columnsOf, countIn, heatStep, peopleOf } from './access-days.ts';

const row = (email: string | null, day: number, count: number) => ({
  user: `id-of-${email}`,
  email,
  day,
  count,
});

test('one row a person, the person with most accesses first, whatever the case of their address', () => {
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
  const unusualOf = (...counts: number[]) =>
    peopleOf(counts.map((count, day) => row('a@b.c', day, count)))[0]?.unusual;
  expect(unusualOf(3, 4, 74)).toEqual([{ day: 2, count: 74, usual: 4 }]);
  expect(unusualOf(60, 66, 74)).toEqual([]);
  expect(unusualOf(19)).toEqual([]);
  expect(unusualOf(1, 1, 30, 90)?.map(({ count }) => count)).toEqual([90, 30]);
});

test('a night of 60 downloads comes before colleagues who access more, every day', () => {
  const busy = Array.from({ length: 48 }, (_, index) => index).flatMap((person) =>
    [1, 2, 3, 4].map((day) => row(`busy${person}@b.c`, day, 30)),
  );
  const people = peopleOf([...busy, row('odd@b.c', 1, 2), row('odd@b.c', 3, 60)]);
  expect(people).toHaveLength(49);
  expect(people[0]).toMatchObject({ label: 'odd@b.c', total: 62 });
});

test('a year is shown in weeks, and no day of it is lost', () => {
  const days = Array.from({ length: 365 }, (_, index) => index * 10);
  expect(columnsOf(days.slice(0, 92), 920)).toHaveLength(92);
  const weeks = columnsOf(days, 3_650);
  expect(weeks).toHaveLength(53);
  expect(weeks[0]).toMatchObject({ from: 0, to: 70 });
  expect(weeks.at(-1)).toEqual({ from: 3_640, to: 3_650, days: [3_640] });
  expect(weeks.flatMap((week) => week.days)).toEqual(days);
  const [person] = peopleOf([row('a@b.c', 0, 2), row('a@b.c', 60, 3), row('a@b.c', 70, 4)]);
  expect(weeks.slice(0, 2).map((week) => person && countIn(week, person))).toEqual([5, 4]);
});

test('the scale is linear, and nothing has a step of its own', () => {
  expect([0, 1, 12, 13, 30, 60].map((count) => heatStep(count, 60))).toEqual([0, 1, 1, 2, 3, 5]);
});
