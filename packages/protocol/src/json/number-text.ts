/** A longer text of a number has digits that no double has. */
const comparedLengthMax = 100;

/**
 * Whether a number of a JSON text keeps its value as a double: `0.10` does; `1e-400`, which becomes
 * 0, and `99999999999999.991` do not. Integers beyond ±(2^53 - 1) never do, so that the type of an
 * id does not depend on its digits.
 */
export function keepsValue(literal: string): boolean {
  if (literal.length > comparedLengthMax) return false;
  const value = Number(literal);
  const text = String(value);
  const isInRange = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return isInRange && (text === literal || decimalOf(text) === decimalOf(literal));
}

/** One text for each value: `1.50` and `15e-1` are `15e-1`. Patterns would take longer. */
function decimalOf(literal: string): string {
  const mark = Math.max(literal.indexOf('e'), literal.indexOf('E'));
  const mantissa = mark < 0 ? literal : literal.slice(0, mark);
  const point = mantissa.indexOf('.');
  const digits = point < 0 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1);
  const sign = digits.startsWith('-') ? '-' : '';
  let [start, end] = [sign.length, digits.length];
  while (digits[start] === '0') start += 1;
  while (end > start && digits[end - 1] === '0') end -= 1;
  if (start === end) return '0';
  const exponent = mark < 0 ? 0 : Number(literal.slice(mark + 1));
  const power = exponent + digits.length - end - (point < 0 ? 0 : mantissa.length - point - 1);
  return `${sign}${digits.slice(start, end)}e${power}`;
}
