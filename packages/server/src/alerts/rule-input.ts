import {
  type AlertRuleSettings,
  alertGrouping,
  alertLimits,
  type FieldProblem,
  type FilterJson,
  filterToJson,
  parseFilterBody,
  pointerOf,
  problemsText,
} from '@indelible/protocol';
import type { Static } from 'typebox';
import { AppError } from '../http/index.ts';
import { ruleFilters } from './rule.ts';
import type { RuleChange } from './schemas.ts';

export type RulePatch = Static<typeof RuleChange>;

const limits = ['count', 'windowMinutes', 'lookbackDays'] as const;

/**
 * The settings after a change whose shape the schema has checked; omitted members keep their value.
 * Throws `validation_failed` with every problem.
 */
export function readRule(former: AlertRuleSettings | null, patch: RulePatch): AlertRuleSettings {
  const problems: FieldProblem[] = [];
  const name = patch.name ?? former?.name ?? required('name', problems, '');
  const kind = patch.kind ?? former?.kind ?? required('kind', problems, 'match');
  // A member that the former kind had, and the new one does not, goes with it.
  const kept = former?.kind === kind ? former : null;
  const settings: AlertRuleSettings = {
    ...{
      name,
      kind,
      filters: readFilters(patch.filters ?? former?.filters ?? {}, '/filters', problems),
    },
    ...readLimits(kind, patch, kept, problems),
    ...readGroup(kind, patch, kept, problems),
    ...readFollowing(kind, patch, kept, problems),
    notify: patch.notify ?? former?.notify ?? {},
  };
  if (problems.length === 0) return settings;
  throw new AppError('validation_failed', problemsText(problems), { errors: problems });
}

function required<T>(member: string, problems: FieldProblem[], instead: T): T {
  problems.push({ path: pointerOf(member), code: 'required', message: 'is required' });
  return instead;
}

function readFilters(json: unknown, path: string, problems: FieldProblem[]): FilterJson {
  const parsed = parseFilterBody(json, path, ruleFilters);
  if ('filter' in parsed) return filterToJson(parsed.filter);
  problems.push(...parsed.problems);
  return {};
}

/** Of a threshold; with `{}` no event has to follow. */
function readFollowing(
  kind: AlertRuleSettings['kind'],
  patch: RulePatch,
  kept: AlertRuleSettings | null,
  problems: FieldProblem[],
): Pick<AlertRuleSettings, 'followedBy'> {
  const path = pointerOf('followedBy');
  if (kind !== 'threshold' && patch.followedBy !== undefined) {
    problems.push({ path, code: 'unknown_field', message: `is no member of a ${kind} rule` });
    return {};
  }
  const followedBy = readFilters(patch.followedBy ?? kept?.followedBy ?? {}, path, problems);
  return Object.keys(followedBy).length === 0 ? {} : { followedBy };
}

function readLimits(
  kind: AlertRuleSettings['kind'],
  patch: RulePatch,
  kept: AlertRuleSettings | null,
  problems: FieldProblem[],
): Partial<AlertRuleSettings> {
  return Object.fromEntries(
    limits.flatMap((limit): [string, number][] => {
      const range = alertLimits[kind][limit];
      const path = pointerOf(limit);
      if (range === undefined) {
        if (patch[limit] === undefined) return [];
        problems.push({ path, code: 'unknown_field', message: `is no member of a ${kind} rule` });
        return [];
      }
      const value = patch[limit] ?? kept?.[limit] ?? range.preset;
      const isWithin = value !== undefined && value >= range.min && value <= range.max;
      if (isWithin) return [[limit, value]];
      const message = `must be a whole number from ${range.min} to ${range.max} for a ${kind} rule`;
      problems.push({ path, code: value === undefined ? 'required' : 'invalid_value', message });
      return [];
    }),
  );
}

/** Null is no group. */
function readGroup(
  kind: AlertRuleSettings['kind'],
  patch: RulePatch,
  kept: AlertRuleSettings | null,
  problems: FieldProblem[],
): Pick<AlertRuleSettings, 'groupBy'> {
  const grouping = alertGrouping[kind];
  const given = patch.groupBy === undefined ? kept?.groupBy : patch.groupBy;
  const groupBy = given ?? undefined;
  const path = pointerOf('groupBy');
  if (grouping === 'none' && patch.groupBy) {
    problems.push({ path, code: 'unknown_field', message: `is no member of a ${kind} rule` });
  }
  if (grouping === 'required' && groupBy === undefined) {
    const message = 'is required: actor (its resource types), resource or ip (its networks)';
    problems.push({ path, code: 'required', message });
  }
  return grouping === 'none' || groupBy === undefined ? {} : { groupBy };
}
