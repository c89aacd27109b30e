import { join } from 'node:path';
import {
  actionsByCategory,
  builtInRules,
  categories,
  contactCenter,
  locales,
} from '@indelible/protocol';
import { expect, test } from 'vitest';
import en from './en.json' with { type: 'json' };
import es from './es.json' with { type: 'json' };
import { languages } from './languages.ts';
import ptBR from './pt-BR.json' with { type: 'json' };
import { placeholder, pluralKey, textsIn } from './texts.ts';

/** Every text of a dictionary by its path; a text in plural forms has them all under one path. */
function formsIn(part: object, path = ''): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>();
  for (const [key, value] of Object.entries(part)) {
    const [, name = key, form = ''] = pluralKey.exec(key) ?? [];
    if (typeof value === 'object') {
      for (const [inner, forms] of formsIn(value, `${path}${key}.`)) found.set(inner, forms);
    } else found.set(path + name, (found.get(path + name) ?? new Map()).set(form, value));
  }
  return found;
}

const dictionaries = await Promise.all(
  locales.map(async (locale) => ({ locale, texts: formsIn(await languages[locale].load()) })),
);
const english = formsIn(en);

const placeholdersOf = (text = '') => [...new Set(text.match(placeholder))].sort();
const allPlaceholders = (forms: ReadonlyMap<string, string> = new Map()) =>
  placeholdersOf([...forms.values()].join());

test.each(dictionaries)('no text is missing, superfluous or empty in $locale', ({ texts }) => {
  expect([...texts.keys()].sort()).toEqual([...english.keys()].sort());
  const empty = [...texts].filter(([, forms]) => [...forms.values()].some((text) => !text.trim()));
  expect(empty).toEqual([]);
});

test.each(dictionaries)('every text has the plural forms of $locale', ({ locale, texts }) => {
  const { pluralCategories } = new Intl.PluralRules(locale).resolvedOptions();
  for (const [path, forms] of english) {
    const needed = forms.has('other') ? [...pluralCategories].sort() : [''];
    expect([...(texts.get(path)?.keys() ?? [])].sort(), path).toEqual(needed);
  }
});

test.each(dictionaries)('a text has the same values in $locale as in English', ({ texts }) => {
  for (const [path, forms] of texts) {
    expect(allPlaceholders(forms), path).toEqual(allPlaceholders(english.get(path)));
    for (const [form, text] of forms) {
      // “The event is …” needs no number; all other forms name what English names.
      if (form !== 'one') expect(placeholdersOf(text), path).toEqual(allPlaceholders(forms));
      expect(text.replace(placeholder, ''), path).not.toMatch(/[{}]|\$t\(/);
    }
  }
});

test('a call of a text is checked by the compiler: parameters.ts has the values of each', async () => {
  const rows = [...english].flatMap(([path, forms]) => {
    const names = allPlaceholders(forms).map((each) => each.slice(2, -2).split(', '));
    const counted = forms.has('other') ? [['count', 'number']] : [];
    const types = new Map([...names, ...counted].map(([name, type = 'string']) => [name, type]));
    const fields = [...types].map(([name, type]) => `${name}: ${type}`);
    return fields.length === 0 ? [] : [`  '${path}': { ${fields.join('; ')} };\n`];
  });
  const head =
    '/** The values of each text. `npx vitest run locales -u` writes this file from en.json. */\n';
  await expect(`${head}export interface Parameters {\n${rows.join('')}}\n`).toMatchFileSnapshot(
    join(import.meta.dirname, 'parameters.ts'),
  );
});

test('numbers and plural forms follow the language', () => {
  const count = (locale: string, dictionary: typeof en, count: number) =>
    textsIn(locale, dictionary).panel.events.count({ count });
  expect([0, 1, 10_000].map((n) => count('en', en, n))).toEqual([
    ...['0 events', '1 event', '10,000 events'],
  ]);
  expect([0, 1, 1_000_000].map((n) => count('es', es, n))).toEqual([
    ...['0 eventos', '1 evento', '1.000.000 de eventos'],
  ]);
  expect([0, 1, 2].map((n) => count('pt-BR', ptBR, n))).toEqual([
    ...['0 evento', '1 evento', '2 eventos'],
  ]);
});

test('a value is inserted as it is, even one that looks like a placeholder', () => {
  const { banner } = textsIn('en', en).panel.operator;
  expect(banner({ tenant: '$& {{tenant}} $1' })).toContain(' $& {{tenant}} $1 ');
});

/** What the service records itself, beyond the catalogue of host products. */
const own = {
  actions: [
    ...['erase', 'reopen', 'pause', 'resume', 'rotate', 'replay', 'skip', 'report_gap'],
    ...['report_silence', 'raise', 'acknowledge', 'mute', 'unmute', 'notify'],
  ],
  types: [
    ...['alert', 'alert_rule', 'archive', 'search', 'signing_key', 'source', 'view', 'viewer_link'],
  ],
};

/** The words of a filter of the built-in alert rules. */
const ofRules = (facet: string) =>
  builtInRules.flatMap(({ filters }) =>
    [new Map(Object.entries(filters)).get(facet) ?? []]
      .flat(2)
      .map((word) => word.replace('!', '')),
  );

test('every word of the catalogue, of the service itself and of its alert rules has a name', () => {
  const { panel } = en;
  const actions = [
    ...Object.values(actionsByCategory).flat(),
    ...own.actions,
    ...ofRules('action'),
  ];
  const types = [...contactCenter.resourceTypes, ...own.types, ...ofRules('resource')];
  expect(Object.keys(panel.actions).sort()).toEqual([...new Set(actions)].sort());
  expect(Object.keys(panel.resources).sort()).toEqual([...new Set(types)].sort());
  expect(Object.keys(panel.categories).sort()).toEqual([...categories].sort());
});

test('every built-in alert rule has a name, why it matters, and what to do', () => {
  const texts = Object.entries(en.panel.alerts.builtIn).map(([id, each]) => [
    id,
    Object.keys(each),
  ]);
  expect(texts).toEqual(builtInRules.map(({ id }) => [id, ['name', 'why', 'act']]));
});
