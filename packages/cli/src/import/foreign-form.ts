import { UsageError } from '../io.ts';
import type { Line } from './line-splitter.ts';

/** So many lines without an event decide that the file has another form. */
export const foreignLinesMin = 12;

/** The file has another form than one JSON object a line. */
export class ForeignFormError extends UsageError {}

/** Beginnings of files, with what they look like and what helps. */
const forms: readonly [RegExp, (found: RegExpExecArray) => string][] = [
  [/^PK(?![\w\s,;])/, () => 'a zip archive: unpack it, for example with unzip -p'],
  [/^(?:\xff\xfe|\xfe\xff)/, () => 'UTF-16: convert it with iconv -f UTF-16 -t UTF-8'],
  [
    /^\s*\{\s*"(\w+)"\s*:\s*\[/,
    ([, name]) => `one object with a list: write one object a line with jq -c '.${name}[]'`,
  ],
  [/^\s*\[/, () => "one JSON list: write one object a line with jq -c '.[]'"],
  [/^\s*\{\s*\n/, () => 'JSON of several lines: write one object a line with jq -c .'],
  [
    /^[^{\n]*[,;\t]/,
    () => 'CSV: write one JSON object a line, for example with mlr --icsv --ojsonl cat',
  ],
];

/**
 * What a file looks like whose first lines hold no event, and the command that makes lines of it;
 * null for a file that is none of the known forms.
 */
export function foreignForm(beginning: Buffer): string | null {
  const text = beginning.toString('latin1');
  for (const [form, advice] of forms) {
    const found = form.exec(text);
    if (found !== null) return `the file looks like ${advice(found)}`;
  }
  return null;
}

/** Looks at the first lines of a file, until one of them holds an event. */
export class FirstLines {
  #lines: Buffer[] = [];
  #hasEvent = false;

  /** Throws ForeignFormError if no line so far holds an event, and the form is known. */
  note({ bytes }: Line, holdsEvent: boolean): void {
    this.#hasEvent ||= holdsEvent;
    if (this.#hasEvent || this.#lines.length === foreignLinesMin) return;
    this.#lines.push(bytes);
    if (this.#lines.length === foreignLinesMin) this.end();
  }

  /** Throws like `note`, at the end of the file. */
  end(): void {
    if (this.#hasEvent) return;
    const form = foreignForm(
      Buffer.from(this.#lines.map((line) => line.toString('latin1')).join('\n'), 'latin1'),
    );
    if (form !== null) throw new ForeignFormError(form);
  }
}
