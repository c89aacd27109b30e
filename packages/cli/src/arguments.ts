import { isUuid, wholeNumber } from '@indelible/protocol';
import { InvalidArgumentError } from 'commander';

/* Reads the texts of options and arguments; a wrong one ends the command with 2. */

/** A tenant's UUID; in lower case, as the service writes it. */
export function tenantIdArgument(text: string): string {
  if (isUuid(text)) return text.toLowerCase();
  throw new InvalidArgumentError('A tenant is named by its UUID.');
}

export function wholeArgument(min: number, max = Number.MAX_SAFE_INTEGER) {
  const parse = wholeNumber(min, max);
  return (text: string): number => {
    const value = parse(text);
    if (value !== null) return value;
    const most = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`;
    throw new InvalidArgumentError(`A whole number from ${min}${most} is needed.`);
  };
}

/** Words of a list, separated by commas. */
export function wordsArgument<T extends string>(allowed: readonly T[]) {
  return (text: string): T[] =>
    text.split(',').map((part) => {
      const word = allowed.find((each) => each === part.trim());
      if (word !== undefined) return word;
      throw new InvalidArgumentError(`Allowed are ${allowed.join(', ')}.`);
    });
}
