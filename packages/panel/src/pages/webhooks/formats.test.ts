import { expect, test } from 'vitest';
import { streamFormats } from '../../../../server/src/webhooks/formats.ts';
import { languageCodes, languages } from '../../i18n/languages.ts';
import { formatFields, webhookFormats } from './formats.ts';

test('every setting of every format is asked for, with values that the service takes', () => {
  for (const [format, { options, needsCredential }] of Object.entries(streamFormats)) {
    const fields = formatFields[format as keyof typeof streamFormats];
    expect(fields.options.map(({ name }) => name).sort()).toEqual(Object.keys(options).sort());
    expect(fields.credential === 'required', format).toBe(needsCredential);
    for (const { name, placeholder, choices = [placeholder] } of fields.options) {
      for (const value of choices) expect(options[name]?.(value), `${format} ${name}`).toBeNull();
    }
  }
});

test('every format, setting and choice has a name in every language', async () => {
  for (const code of languageCodes) {
    const texts = (await languages[code].load()).panel.webhooks;
    for (const format of webhookFormats) {
      expect(texts.formats[format]).not.toBe('');
      for (const { name, choices = [] } of formatFields[format].options) {
        expect(texts.options).toHaveProperty(name);
        for (const choice of choices) expect(texts.choices).toHaveProperty(choice);
      }
    }
  }
});
