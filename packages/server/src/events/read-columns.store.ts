import { longFields, storedFields } from '@indelible/protocol';

/* What statements read of an event. */

/** The columns of a `StoredEvent` without its states, for statements that read whole events. */
export const storedColumns = [
  ...storedFields
    .filter(({ kind }) => kind !== 'state')
    .map(({ column, key }) => `${column} AS "${key}"`),
  ...['salts', 'erased'],
].join(', ');

/** The bytes of an event's long texts; `size` is that of a column. */
export const longBytes = (
  withStates: boolean,
  size = (column: string) => `octet_length(${column}::text)`,
): string =>
  longFields(withStates)
    .map(({ column }) => `coalesce(${size(column)}, 0)`)
    .join(' + ');

/** What searches compare, of the fields of version 2; no proof covers these copies. */
export interface SearchCopies {
  outcome: string | null;
  actorType: string | null;
  correlationId: string | null;
  /** Ids and e-mail addresses, these in lower case, of the people the actor acts for. */
  onBehalfOf: string[] | null;
}

/** The columns of these copies. */
export const copyColumns: { [Key in keyof SearchCopies]: string } = {
  outcome: 'outcome',
  actorType: 'actor_type',
  correlationId: 'correlation_id',
  onBehalfOf: 'on_behalf_of',
};

/** The copies as SQL, to compare them with the event. */
export const copiesSelected = Object.entries(copyColumns)
  .map(([key, column]) => `${column} AS "${key}"`)
  .join(', ');
