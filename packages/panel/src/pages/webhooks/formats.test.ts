import { expect, test } from 'vitest';
import { formats } from '../../../../server/src/webhooks/formats.ts';
import { languageCodes, languages } from '../../i18n/languages.ts';
import { formatFields, webhookFormats } from './formats.ts';

test('every setting of every format is asked for, with values that the service takes', () => {
  for (const [format, { options, credential }] of Object.entries(formats)) {
    const fields = formatFields[format as keyof typeof formats];
    expect(fields.options.map(({ name }) => name).sort()).toEqual(Object.keys(options).sort());
    expect(fields.credential, format).toBe(credential);
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
