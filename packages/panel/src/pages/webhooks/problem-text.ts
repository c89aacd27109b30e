import type { WebhookFormat } from '@indelible/client';
import type { Texts } from '../../i18n/texts.tsx';

/** A problem found by the service: a JSON Pointer and a code. */
interface Problem {
  path: string;
  code: string;
}

/** The field that shows a problem; null if the form has no such field. */
export function fieldOf({ path }: Problem): string | null {
  const [, field = '', name] = path.split('/');
  if (field === 'options') return name === undefined ? null : `/options/${name}`;
  return ['url', 'name', 'credential', 'headers', 'types', 'filters'].includes(field)
    ? `/${field}`
    : null;
}

/** The problem of a field in the reader's language; '' if the form has no such field. */
export function problemText(w: Texts['webhooks'], format: WebhookFormat, problem: Problem): string {
  const { problems } = w.form;
  const field = fieldOf(problem);
  if (field === '/url') return `${problems.url} ${textOf(problems.urlOf, format)}`.trim();
  if (field === '/credential') return credentialText(problems, format, problem);
  if (field === '/headers') return headersText(problems, problem);
  if (field === '/name' || field === '/types' || field === '/filters') {
    return problems[field === '/name' ? 'name' : field === '/types' ? 'types' : 'filters'];
  }
  if (field === null) return '';
  const ofFormat: Readonly<Record<string, object>> = problems.optionOf;
  return textOf(ofFormat[format] ?? {}, field.slice('/options/'.length)) || problems.option;
}

/** The header's name, if one is wrong, before what is wrong. */
function headersText(
  problems: Texts['webhooks']['form']['problems'],
  { path, code }: Problem,
): string {
  const name = path.slice('/headers/'.length);
  if (name === '') return problems.headersMany;
  return `${name}: ${code === 'required' ? problems.headerAgain : problems.header}`;
}

function credentialText(
  problems: Texts['webhooks']['form']['problems'],
  format: WebhookFormat,
  { code }: Problem,
): string {
  if (code === 'required') return problems.credential;
  const mayHaveSpaces = format === 'generic' || format === 'elastic';
  return mayHaveSpaces ? problems.credentialLine : problems.credentialAlone;
}

/** Own properties only: names come from requests and may be `constructor` or the like. */
function textOf(texts: object, name: string): string {
  return Object.hasOwn(texts, name) ? String(Reflect.get(texts, name)) : '';
}
