import { type EventFilter, parseListQuery } from '@indelible/protocol';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../exit-codes.ts';

/** Which rows a table has. */
export interface CriteriaOptions {
  from?: string;
  to?: string;
  user?: string[];
  action?: string[];
  resource?: string[];
  resourceId?: string[];
  crossTenant?: string[];
  category?: string[];
}

/** Which rows a table has, and in which order. */
export interface FilterOptions extends CriteriaOptions {
  order: 'asc' | 'desc';
  recordedBefore?: number;
}

const params = {
  from: 'from',
  to: 'to',
  user: 'user',
  action: 'action',
  resource: 'resource',
  resourceId: 'resource_id',
  crossTenant: 'cross_tenant',
  category: 'category',
} as const;

/** Adds the list's filter, as options, and how the rows of a table stand. */
export function withFilter(command: Command): Command {
  return withCriteria(command)
    .addOption(
      new Option('--order <order>', 'of the rows').choices(['desc', 'asc']).default('desc'),
    )
    .option('--recorded-before <sequence>', 'the table has what was recorded before', sequence);
}

/** Adds the list's filter, as options. */
export function withCriteria(command: Command): Command {
  return command
    .option('--from <time>', 'the table begins here')
    .option('--to <time>', 'and ends before this')
    .option('--user <user>', "actor's id or e-mail; may be repeated", collected)
    .option('--action <action>', 'may be repeated', collected)
    .option('--resource <type>', 'may be repeated', collected)
    .option('--resource-id <id>', 'may be repeated', collected)
    .option('--cross-tenant <boolean>', 'true or false', collected)
    .option('--category <category>', 'may be repeated', collected);
}

function collected(text: string, before: string[] = []): string[] {
  return [...before, text];
}

function sequence(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('A sequence is needed, counted from 0.');
}

/** The filter that was stated, or null when there is none. Throws UsageError for a wrong one. */
export function filterOf(options: CriteriaOptions & Partial<FilterOptions>): EventFilter | null {
  const stated = Object.entries(params).flatMap(([option, name]) =>
    [options[option as keyof typeof params] ?? []].flat().map((text) => [name, text] as const),
  );
  const hasMore = options.recordedBefore !== undefined || options.order === 'asc';
  if (stated.length === 0) return hasMore ? {} : null;
  const parsed = parseListQuery(stated);
  if ('query' in parsed) return parsed.query.filter;
  throw new UsageError(parsed.problems.map(({ path, message }) => `${path} ${message}`).join('; '));
}
