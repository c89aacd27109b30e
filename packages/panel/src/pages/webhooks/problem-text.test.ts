import { expect, test } from 'vitest';
import { textsIn } from '../../../../../locales/texts.ts';
import { AppError } from '../../../../server/src/http/problem.ts';
import {
  newcomer,
  readSettings,
  type WebhookPatch,
} from '../../../../server/src/webhooks/webhook-input.ts';
import { languageCodes, languages } from '../../i18n/languages.ts';
import { fieldOf, problemText } from './problem-text.ts';

const texts = await Promise.all(
  languageCodes.map(async (code) => textsIn(code, await languages[code].load()).panel.webhooks),
);
const { webhooks: english } = textsIn('en', await languages.en.load()).panel;

/** What the service finds wrong with this. */
function problemsOf(patch: WebhookPatch) {
  try {
    readSettings(newcomer, patch, false);
  } catch (error) {
    if (error instanceof AppError) return error.errors ?? [];
  }
  return [];
}

const url = 'https://siem.example.com';
const wrong: [WebhookPatch & { format: keyof typeof english.formats }, string[]][] = [
  [{ format: 'webhook', url: 'http://siem.example.com' }, ['/url']],
  [
    { format: 'webhook', url: 'https://10.0.0.1/', headers: { Host: 'x', 'X-A': 'two\nlines' } },
    ['/url', '/headers', '/headers'],
  ],
  [{ format: 'generic', url: `${url}/#x`, credential: ' Bearer x' }, ['/url', '/credential']],
  [{ format: 'generic', url, options: { body: 'xml' } }, ['/options/body']],
  [
    { format: 'splunk_hec', url: `${url}/?token=1`, options: { index: 'A B', host: 'a\nb' } },
    ['/url', '/options/index', '/options/host', '/credential'],
  ],
  [
    { format: 'datadog', url, credential: 'a b', options: { ddtags: '1', service: '' } },
    ['/options/ddtags', '/options/service', '/credential'],
  ],
  [
    {
      format: 'elastic',
      url: `${url}/x/_bulk`,
      options: { index: 'A' },
      types: ['audit.export.ready'],
    },
    ['/url', '/types', '/options/index'],
  ],
];

test("every problem that the service finds is shown at its field, in the reader's language", () => {
  for (const [patch, fields] of wrong) {
    const found = problemsOf(patch);
    expect(found.map(fieldOf)).toEqual(fields);
    for (const problem of found) {
      const said = texts.map((w) => problemText(w, patch.format, problem));
      expect(new Set(said).size, problem.path).toBe(languageCodes.length);
      for (const text of said) expect(text).toMatch(/^\p{Lu}[^\n]+\S$/u);
    }
  }
});

test('an option has the words of its own format, and no word that is no option has any', () => {
  const at = (path: string) => ({ path, code: 'invalid_value' });
  const index = at('/options/index');
  expect(problemText(english, 'splunk_hec', index)).not.toBe(
    problemText(english, 'elastic', index),
  );
  const inherited = at('/options/constructor');
  expect(problemText(english, 'elastic', inherited)).toBe(english.form.problems.option);
});

test('a problem outside of the form is no problem of a field', () => {
  for (const path of ['', '/', '/format', '/options', '/status']) {
    expect(fieldOf({ path, code: 'invalid_value' })).toBeNull();
  }
  expect(fieldOf({ path: '/filters/action', code: 'too_many' })).toBe('/filters');
  expect(fieldOf({ path: '/types/0', code: 'invalid_value' })).toBe('/types');
});
