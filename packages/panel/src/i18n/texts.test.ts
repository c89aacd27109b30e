import { actionsByCategory, categories, resourceTypesByCategory } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { en } from './en.ts';
import { es } from './es.ts';
import { ptBR } from './pt-br.ts';

/** Every text of a dictionary by its path; functions as what they make of marks. */
function textsOf(value: unknown, path = ''): [string, string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function') return [[path, value('‹1›', '‹2›')]];
  return Object.entries(value as object).flatMap(([key, inner]) =>
    textsOf(inner, `${path}.${key}`),
  );
}

const english = new Map(textsOf(en));

test('no text is missing or empty in any language', () => {
  for (const other of [es, ptBR]) {
    const texts = new Map(textsOf(other));
    expect([...texts.keys()].sort()).toEqual([...english.keys()].sort());
    for (const [path, text] of texts) expect(text.trim(), path).not.toBe('');
  }
});

test('what a text puts in is put in by every language', () => {
  const marks = (text = '') => [...new Set(text.match(/‹\d›/g))].sort();
  for (const other of [es, ptBR]) {
    for (const [path, text] of textsOf(other)) {
      expect(marks(text.toUpperCase()), path).toEqual(marks(english.get(path)?.toUpperCase()));
    }
  }
});

test('one and many are told apart in every language', () => {
  for (const { events, detail, versions, exports } of [en, es, ptBR]) {
    for (const count of [detail.changed, versions.count, versions.differing]) {
      expect(count(1)).not.toBe(count(2).replace('2', '1'));
    }
    expect(events.count(1, '1')).not.toBe(events.count(2, '1'));
    expect(exports.rows(1, '1')).not.toBe(exports.rows(2, '1'));
  }
});

test('every word of the catalogue has a name in every language', () => {
  const actions = Object.values(actionsByCategory).flat();
  const types = Object.values(resourceTypesByCategory).flat();
  for (const texts of [en, es, ptBR]) {
    expect(Object.keys(texts.actions).sort()).toEqual([...new Set(actions)].sort());
    expect(Object.keys(texts.resources).sort()).toEqual([...new Set(types)].sort());
    expect(Object.keys(texts.categories).sort()).toEqual([...categories].sort());
  }
});
