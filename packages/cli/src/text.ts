/** Text from events, made safe for a terminal. */

// Control characters, line and paragraph separators, marks that change text direction, invisible
// characters, and lone surrogates.
const hidden = /[\p{Cc}\p{Cs}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu;

/**
 * `text` with everything escaped (`\n`, `\u001b`) that could move the cursor, change colours, forge
 * a further line or reverse what is read. A backslash of the text itself stays as it is.
 */
export function visible(text: string): string {
  return text.replace(hidden, (character) => shortEscapes.get(character) ?? escaped(character));
}

const shortEscapes = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** As JSON writes it: two escapes for what is beyond U+FFFF. */
function escaped(character: string): string {
  const units = character.split('');
  return units.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
}

/** One line of JSON that a terminal shows as harmlessly as `visible` text; the same value. */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value).replace(hidden, escaped)}\n`;
}

/** `cut` to `length` characters at most, the last one an ellipsis where something is missing. */
export function shortened(text: string, length: number): string {
  const characters = [...text.slice(0, 2 * length + 2)];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`;
}

/** 1234567 as `1,234,567`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** Names and values in two columns, a line each. */
export function aligned(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}\n`).join('');
}
