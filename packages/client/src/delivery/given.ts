/**
 * The options that have a value: one that is undefined,
 * as of a variable that is not set, is a default.
 */
export function given<T extends object>(options: T): T {
  const members = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as T;
}
