import type { NamedFilter } from '@indelible/protocol';

/** Why nothing follows about a person or resource of a filter. */
export const unknownText = (name: NamedFilter, value: string) =>
  `Anything about ${name} ${JSON.stringify(value)}: it occurs in no event that is shown, so it ` +
  'may be misspelt.';
