import { revealed } from '@indelible/protocol';
import { el } from './elements.ts';
import type { Outcome, View } from './view.ts';

/** Whether the file can be believed, in one sentence, and what contradicts it. */
export function verdictBox({ texts }: View, { code, problems }: Outcome): HTMLElement {
  const { title, text } = texts[code];
  const lines = problems.map((problem) => el('li', {}, revealed(problem)));
  return el(
    'div',
    { class: `verdict ${code}`, role: 'status' },
    el('h1', {}, title),
    el('p', {}, text),
    problems.length === 0 ? null : el('ul', {}, lines),
  );
}
