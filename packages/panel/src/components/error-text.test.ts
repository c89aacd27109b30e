import { IndelibleError } from '@indelible/client';
import type { ErrorCode } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { textsIn } from '../../../../locales/texts.ts';
import { languageCodes, languages } from '../i18n/languages.ts';
import { errorText } from './States.tsx';

test.each(languageCodes)(
  'answers that take too long and those of a proxy are explained in the language %s',
  async (code) => {
    const { panel } = textsIn(code, await languages[code].load());
    const facts = { status: 503, detail: 'in English', requestId: null };
    const textOf = (code: ErrorCode) => errorText(new IndelibleError({ ...facts, code }), panel);
    expect(textOf('too_slow')).toBe(panel.error.tooSlow);
    expect(textOf('unavailable')).toBe(panel.error.busy);
    const proxy = new IndelibleError({ ...facts, status: 200, code: 'unexpected_answer' });
    expect(errorText(proxy, panel)).toBe(panel.error.unreachable);
  },
);

test.each(languageCodes)(
  'too many matches to count are explained in the language %s',
  async (code) => {
    const { panel } = textsIn(code, await languages[code].load());
    const errors = [{ path: 'q', code: 'too_many', message: 'matches too many events' }];
    const facts = { status: 400, code: 'invalid_parameter', requestId: null } as const;
    const detail = 'more than 200,000 events have these words; narrow the time range';
    const { tooMany } = panel.error;
    expect(errorText(new IndelibleError({ ...facts, detail, errors }), panel)).toBe(tooMany);
    expect(errorText(new IndelibleError({ ...facts, detail }), panel)).toBe(detail);
  },
);
