import { portableSha256, verifyCapsule } from '@indelible/protocol';
import { type Dictionary, textsIn } from '../../../../locales/texts.ts';
import { bestLanguage } from '../i18n/best-language.ts';
import { formatsOf } from '../i18n/formats.ts';
import { contentOf, el, type View, verdictBox } from './content.ts';

/*
 * The program in an evidence capsule. It checks the data beside it without a network, and shows
 * only what it could verify. Until then the page says that nothing is checked.
 */

/** The parts of the dictionaries that a capsule needs; the build inserts them. */
declare const capsuleDictionaries: Record<string, Dictionary>;

const language = bestLanguage(Object.keys(capsuleDictionaries), navigator.languages);
const dictionary = capsuleDictionaries[language] as Dictionary;
const { capsule: texts, panel } = textsIn(language, dictionary);
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
const view: View = {
  texts,
  filters: panel.filters,
  same: panel.evidence,
  formats: formatsOf(language, timeZone),
};

const partOf = (id: string) => document.getElementById(id)?.textContent ?? '';

async function show(): Promise<void> {
  const verdict = await verifyCapsule(portableSha256, {
    data: partOf('data'),
    record: partOf('record'),
  });
  document.documentElement.lang = language;
  const { content } = verdict;
  if (content !== null) document.title = content.data.search.note ?? texts.title;
  page(verdictBox(view, verdict), ...(content === null ? [] : contentOf(view, content)));
}

function page(...children: HTMLElement[]): void {
  document.querySelector('main')?.replaceChildren(...children);
}

page(el('p', { role: 'status' }, texts.checking));
show().catch((error: unknown) => {
  // WebCrypto refuses keys of an algorithm that the browser does not have.
  const problems = [error instanceof Error ? error.message : String(error)];
  page(verdictBox(view, { code: 'unchecked', problems, content: null }));
});
