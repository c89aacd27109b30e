import { dirname } from 'node:path';
import { revealedLine } from '@indelible/protocol';

/** Text from events, made safe for a terminal: it cannot move the cursor nor forge a line. */
export const visible = (text: string) => revealedLine(text);

/**
 * A sentence without Node's names of system errors: “ENOENT: no such file or directory, open 'x'”
 * says it by its words, and names the file only if the sentence does not.
 */
export function plainReasons(sentence: string): string {
  const reason = /\bE[A-Z]{3,}: ([^,\n]+), [a-z]+(?: '([^'\n]*)')?(?: -> '([^'\n]*)')?/g;
  return sentence.replace(reason, (_, words: string, path = '', target = '', at = 0) => {
    const before = sentence.slice(0, at);
    const folder = dirname(path);
    const isNamed = before.includes(path) || (folder !== '.' && before.includes(folder));
    if (isNamed) return words;
    return `${path}${target === '' ? '' : ` to ${target}`}: ${words}`;
  });
}

/** The escape that JSON writes: two for a character beyond U+FFFF. */
function escaped(character: string): string {
  const units = character.split('');
  return units.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
}

/** One line of JSON without invisible characters; the same value. */
export function jsonLine(value: unknown): string {
  return `${revealedLine(JSON.stringify(value), escaped)}\n`;
}

/** `cut` to `length` characters at most, the last one an ellipsis where something is missing. */
export function shortened(text: string, length: number): string {
  const characters = [...text.slice(0, 2 * length + 2)];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`;
}

/** The id of a log as its origin has it. */
export const hexId = (logId: string) => logId.replaceAll('-', '');

/** Names and values in two columns, a line each. */
export function aligned(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}\n`).join('');
}
