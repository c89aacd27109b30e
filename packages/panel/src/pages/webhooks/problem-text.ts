import type { WebhookFormat } from '@indelible/client';
import { type Texts, textOf } from '../../i18n/texts.tsx';

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
  const [, field, ...rest] = problem.path.split('/');
  const name = rest.join('/');
  const isMissing = problem.code === 'required';
  switch (fieldOf(problem) === null ? undefined : field) {
    case undefined:
      return '';
    case 'url':
      return `${problems.url} ${textOf(problems.urlOf, format) ?? ''}`.trim();
    case 'name':
    case 'types':
    case 'filters':
      return problems[field as 'name'];
    case 'credential': {
      if (isMissing) return problems.credential;
      const mayHaveSpaces = format === 'generic' || format === 'elastic';
      return mayHaveSpaces ? problems.credentialLine : problems.credentialAlone;
    }
    case 'headers':
      // The header's name, if one is wrong, before what is wrong.
      if (name === '') return problems.headersMany;
      return `${name}: ${isMissing ? problems.headerAgain : problems.header}`;
    default: {
      const ofFormat: Readonly<Record<string, object>> = problems.optionOf;
      return textOf(ofFormat[format] ?? {}, name) ?? problems.option;
    }
  }
}
