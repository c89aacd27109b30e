import { actionsByCategory, categories, contactCenter } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { en } from './en.ts';
import { es } from './es.ts';
import { languageCodes, languages } from './languages.ts';
import { pluralIn } from './plural.ts';
import { ptBR } from './pt-br.ts';

type Text = string | ((...about: unknown[]) => string);

/** Every text of a dictionary by its path. */
function leavesOf(value: unknown, path = ''): [string, Text][] {
  if (typeof value !== 'object' || value === null) return [[path, value as Text]];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, `${path}.${key}`));
}

const spoken = (text: Text, about: readonly unknown[]) =>
  typeof text === 'string' ? text : text(...about);

const dictionaries = await Promise.all(languageCodes.map((code) => languages[code].load()));
const english = new Map(leavesOf(en));
const others = dictionaries
  .filter((texts) => texts !== en)
  .map((texts) => new Map(leavesOf(texts)));

const marked = ['‹1›', '‹2›', '‹3›'];

test('no text is missing or empty in any language', () => {
  for (const texts of others) {
    expect([...texts.keys()].sort()).toEqual([...english.keys()].sort());
    for (const [path, text] of texts) expect(spoken(text, marked).trim(), path).not.toBe('');
  }
});

test('what a text puts in is put in by every language', () => {
  const marks = (text: Text = '') =>
    [...new Set(spoken(text, marked).toUpperCase().match(/‹\d›/g))].sort();
  for (const texts of others) {
    for (const [path, text] of texts) expect(marks(text), path).toEqual(marks(english.get(path)));
  }
});

test('wherever English tells one from many, every language does', () => {
  const tells = (text: Text | undefined) => {
    if (typeof text !== 'function') return false;
    const [one, many] = [text(1, '1', '1'), text(2, '1', '1').replaceAll('2', '1')];
    return one !== many;
  };
  const counting = [...english].filter(([, text]) => tells(text)).map(([path]) => path);
  expect(counting).toEqual(expect.arrayContaining(['.events.count', '.evidence.provesSome']));
  for (const texts of others) {
    for (const path of counting) expect(tells(texts.get(path)), path).toBe(true);
  }
});

test('one form serves what the grammar of the language counts as one', () => {
  const form = (language: string, n: number) => pluralIn(language)(n, 'one', 'other');
  expect([0, 1, 2, 1_000_000].map((n) => form('en', n))).toEqual([
    'other',
    'one',
    'other',
    'other',
  ]);
  expect([0, 1, 2, 1_000_000].map((n) => form('es', n))).toEqual([
    'other',
    'one',
    'other',
    'other',
  ]);
  expect([0, 1, 2].map((n) => form('pt-BR', n))).toEqual(['one', 'one', 'other']);
  expect(ptBR.events.count(0, '0')).toBe('0 evento');
});

test('exactly one event matches, several match', () => {
  expect(en.evidence.provesSome(1, '1', 'May')).toMatch(/exactly 1 event recorded .* matches /);
  expect(en.evidence.provesSome(2, '2', 'May')).toMatch(/exactly 2 events recorded .* match /);
  expect(es.evidence.provesSome(1, '1', 'mayo')).toMatch(/1 evento registrado .* cumple /);
  expect(ptBR.evidence.provesSome(2, '2', 'maio')).toMatch(/2 eventos registrados .* atendem /);
});

/** What the service records itself, beyond the catalogue of host products. */
const own = {
  actions: [
    'erase',
    'reopen',
    'pause',
    'resume',
    'rotate',
    'replay',
    'report_gap',
    'report_silence',
  ],
  types: ['archive', 'signing_key', 'source', 'viewer_link'],
};

test('every word of the catalogue, and of the service itself, has a name in every language', () => {
  const actions = [...Object.values(actionsByCategory).flat(), ...own.actions];
  const types = [...contactCenter.resourceTypes, ...own.types];
  for (const texts of dictionaries) {
    expect(Object.keys(texts.actions).sort()).toEqual([...new Set(actions)].sort());
    expect(Object.keys(texts.resources).sort()).toEqual([...new Set(types)].sort());
    expect(Object.keys(texts.categories).sort()).toEqual([...categories].sort());
  }
});
