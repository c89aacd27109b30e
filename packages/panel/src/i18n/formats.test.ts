import { expect, test } from 'vitest';
import { formatsOf } from './formats.ts';

const ms = Date.UTC(2025, 10, 3, 1, 2, 3, 45);

test('a moment is shown in the zone that was chosen, on the 24-hour clock', () => {
  expect(formatsOf('en', 'UTC').time(ms)).toBe('01:02:03');
  expect(formatsOf('pt-BR', 'America/Sao_Paulo').time(ms)).toBe('22:02:03');
  expect(formatsOf('en', 'UTC').exact(ms)).toContain('03.045');
});

test('events are grouped by the days of the zone, not of UTC', () => {
  expect(formatsOf('es', 'UTC').dayKey(ms)).toBe('2025-11-03');
  expect(formatsOf('es', 'America/Sao_Paulo').dayKey(ms)).toBe('2025-11-02');
});

test('numbers and distances are told as the language tells them', () => {
  expect(formatsOf('en', 'UTC').number(10_000)).toBe('10,000');
  expect(formatsOf('pt-BR', 'UTC').number(10_000)).toBe('10.000');
  expect(formatsOf('en', 'UTC').relative(ms - 86_400_000, ms)).toBe('yesterday');
  expect(formatsOf('es', 'UTC').relative(ms - 3 * 3_600_000, ms)).toBe('hace 3 horas');
  expect(formatsOf('en', 'UTC').bytes(184_213)).toBe('184.2 kB');
});
