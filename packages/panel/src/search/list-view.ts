import type { CsvColumn } from '@indelible/protocol';

/* How a list of events looks: its columns beside the time, and the height of its rows. */

/** In their order, with the columns of CSV that hold the same. */
const csvOf = {
  user: ['actor.id', 'actor.email', 'actor.role', 'actor.name', 'actor.externalId', 'onBehalfOf'],
  action: ['action', 'outcome'],
  resource: ['resource.type', 'resource.id', 'resource.name', 'resource.externalId', 'targets'],
  changes: ['diff', 'crossTenant', 'reason'],
  ip: ['actor.ip'],
} as const satisfies Readonly<Record<string, readonly CsvColumn[]>>;

export type ListColumn = keyof typeof csvOf;
export const listColumns = Object.keys(csvOf) as readonly ListColumn[];
export const densities = ['normal', 'compact'] as const;
export type Density = (typeof densities)[number];

/** What the reader has chosen, or a link names. */
export interface ListView {
  columns: readonly ListColumn[];
  density: Density;
}

export const defaultView: ListView = { columns: listColumns, density: 'normal' };

/** The columns of an address (`user,action`) in their order; null if one is unknown. */
export function parseColumns(text: string): readonly ListColumn[] | null {
  const names = text.split(',');
  const isKnown = names.every((name) => listColumns.some((column) => column === name));
  return isKnown ? listColumns.filter((column) => names.includes(column)) : null;
}

/** The columns of a CSV file with what the list shows. */
export function csvColumnsOf(columns: readonly ListColumn[]): CsvColumn[] {
  return ['id', 'timestamp', ...columns.flatMap((column) => csvOf[column])];
}
