/** The parameters of `GET /api/audit-logs/stats`: the list's filters and the grouping. */

import type { EventFilter } from './event-filter.ts';
import { countedFacets } from './facets.ts';
import { filterParamNames } from './list-query.ts';
import { type ParamReader, type QueryRefusal, readParams } from './query-params.ts';
import { readFilterParams } from './read-filter.ts';
import { isTimeZone, timeUnits } from './time-buckets.ts';

export const groupKeys = [...timeUnits, ...countedFacets] as const;
export type GroupKey = (typeof groupKeys)[number];

export interface StatsQuery {
  filter: EventFilter;
  /** One or two, distinct, at most one time unit; in the requested order. */
  groupBy: GroupKey[];
  /** IANA name as given; default `UTC`. */
  timeZone: string;
}

const statsParamNames: readonly string[] = [...filterParamNames, 'group_by', 'time_zone'];

/** The query of decoded parameters, or all problems: `unknown_parameter` or `invalid_parameter`. */
export function parseStatsQuery(
  params: Iterable<readonly [string, string]>,
): { query: StatsQuery } | QueryRefusal {
  const reader = readParams(params, statsParamNames);
  const zone = reader.one('time_zone', 'an IANA time zone such as Europe/Berlin', (text) =>
    isTimeZone(text) ? text : null,
  );
  const filter = readFilterParams(reader);
  const query = { filter, groupBy: readGroups(reader), timeZone: zone ?? 'UTC' };
  return reader.refusal() ?? { query };
}

function readGroups(reader: ParamReader): GroupKey[] {
  const groups = reader.list('group_by', groupKeys);
  const refuse = (message: string) => reader.refuse('group_by', message);
  if (reader.all('group_by').length === 0)
    refuse(`is required: one or two of ${groupKeys.join(', ')}`);
  if (groups.length > 2) refuse('takes at most two');
  if (new Set(groups).size < groups.length) refuse('must not repeat a group');
  const units = new Set(timeUnits.filter((unit) => groups.includes(unit)));
  if (units.size > 1) refuse('takes at most one of minute, hour, day');
  return groups;
}
