import { expect, test } from 'vitest';
import { finds } from './folding.ts';

test('words typed without accents find words with them, and the other way round', () => {
  expect(finds('acao', 'Ação')).toBe(true);
  expect(finds('Ação', 'acao')).toBe(true);
  expect(finds('GRABACION', 'Política de grabación')).toBe(true);
  expect(finds('ano', 'Años')).toBe(true);
});

test('every word has to occur, in any order', () => {
  expect(finds('costa marina', 'marina.costa@aurora.example')).toBe(true);
  expect(finds('costa diego', 'marina.costa@aurora.example')).toBe(false);
  expect(finds('', 'anything')).toBe(true);
});
