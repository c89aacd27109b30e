/**
 * The options that have a value. An undefined option, such as an unset variable, uses the default.
 */
export function given<T extends object>(options: T): T {
  const members = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as T;
}
