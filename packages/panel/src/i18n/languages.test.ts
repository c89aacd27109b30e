import { expect, test } from 'vitest';
import { languageFor } from './languages.ts';

test('a chosen language wins, then the first wish that the panel speaks, then English', () => {
  expect(languageFor('es', ['pt-BR'])).toBe('es');
  expect(languageFor(null, ['fr-FR', 'pt-PT', 'es'])).toBe('pt-BR');
  expect(languageFor(null, ['ES-mx'])).toBe('es');
  expect(languageFor(null, ['de-AT', 'es'])).toBe('de');
  expect(languageFor(null, ['est', 'pt-br'])).toBe('pt-BR');
  expect(languageFor(null, ['ja'])).toBe('en');
});
