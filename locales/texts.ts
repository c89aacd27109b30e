import type { Parameters } from './parameters.ts';

/*
 * Texts of a language, from its dictionary in the JSON format of i18next (version 4):
 * `{{name}}` is replaced by a value, `{{name, number}}` by a number as the language writes it, and
 * the endings `_one`, `_few`, `_other` … are the plural forms of `{{count}}`.
 */

type English = typeof import('./en.json');

/** What every dictionary must have: the keys of the English one, in the plural forms it needs. */
export type Dictionary = Needed<English>;

type Needed<Part> = {
  [Key in keyof Part as Key extends `${string}_one` ? never : Key]: Part[Key] extends string
    ? string
    : Needed<Part[Key]>;
};

/** A text with values is a function of them, any other text a string. */
export type Texts = TextsOf<English, ''>;

type TextsOf<Part, Path extends string> = {
  [Key in keyof Part & string as Singular<Key>]: Part[Key] extends string
    ? TextAt<`${Path}${Singular<Key>}`>
    : TextsOf<Part[Key], `${Path}${Key}.`>;
};

type Singular<Key extends string> = Key extends `${infer Name}_${Intl.LDMLPluralRule}` ? Name : Key;

type TextAt<Path> = Path extends keyof Parameters ? (values: Parameters[Path]) => string : string;

type Values = Readonly<Record<string, string | number>>;

interface Part {
  readonly [key: string]: string | Part;
}

export const pluralKey = /^(.+)_(zero|one|two|few|many|other)$/;

export const placeholder = /\{\{(\w+)(, number)?\}\}/g;

/** The texts of a dictionary. Values are inserted as they are: the caller escapes them for HTML. */
export function textsIn(locale: string, dictionary: Dictionary): Texts {
  // Made at their first use, because a service loads all languages when it starts.
  let plural: Intl.PluralRules | undefined;
  let number: Intl.NumberFormat | undefined;
  const formatted = (value: unknown) => {
    number ??= new Intl.NumberFormat(locale);
    return number.format(Number(value));
  };
  const fill = (text: unknown, values: Values) =>
    String(text).replace(placeholder, (_, name: string, isNumber?: string) =>
      isNumber ? formatted(values[name]) : String(values[name]),
    );
  const read = (part: Part): object =>
    Object.fromEntries(
      Object.entries(part).flatMap(([key, text]): [string, unknown][] => {
        if (typeof text === 'object') return [[key, read(text)]];
        const [, name, form] = pluralKey.exec(key) ?? [];
        if (form === undefined) {
          return [[key, text.includes('{{') ? (values: Values) => fill(text, values) : text]];
        }
        const formOf = ({ count }: Values) => {
          plural ??= new Intl.PluralRules(locale);
          return part[`${name}_${plural.select(Number(count))}`];
        };
        const say = (values: Values) => fill(formOf(values) ?? text, values);
        return form === 'other' ? [[name ?? '', say]] : [];
      }),
    );
  return read(dictionary) as Texts;
}
