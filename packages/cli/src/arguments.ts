import { isUuid, tenantUuid, wholeNumber } from '@indelible/protocol';
import { InvalidArgumentError } from 'commander';

/* Reads the texts of options and arguments; a wrong one ends the command with 2. */

/** A tenant's UUID, in lower case, of its UUID or the host's own id. */
export function tenantIdArgument(text: string): string {
  const id = tenantUuid(text);
  if (id !== null) return id;
  throw new InvalidArgumentError('A tenant is named by its UUID, or by your own id for it.');
}

/** The name of a tenant that may be new: the service stores an own id. */
export function newTenantArgument(text: string): string {
  return isUuid(text) ? text.toLowerCase() : tenantIdArgument(text) && text;
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
