import {
  type AlertRuleSettings,
  type BuiltInRule,
  boundNames,
  builtInRules,
  externalUuid,
  type FilterJson,
  filterNames,
  parseFilterBody,
  resolvedFilter,
  timestampOrNull,
} from '@indelible/protocol';
import { languages } from '../../../../locales/languages.ts';
import { textsIn } from '../../../../locales/texts.ts';
import type { RuleRow } from './store.ts';

/** Rules are about events as they are recorded: no filter by time. */
export const ruleFilters = filterNames.filter((name) => !boundNames.some((each) => each === name));

/** A rule before it is stored: an own one, or a built-in one that was never changed. */
export function newRule(
  tenantId: string,
  id: string,
  settings: AlertRuleSettings,
  enabled: boolean,
  nowMs: number,
): RuleRow {
  return {
    ...{ tenantId, id, settings: JSON.stringify(settings), enabled },
    ...{ builtIn: null, version: 0, fromSequence: 0, mutedUntilMs: null, silentAtMs: null },
    ...{ untold: [], tellAtMs: null, toldAtMs: null, dropped: 0 },
    ...{ createdAtMs: nowMs, updatedAtMs: nowMs },
  };
}

/** The built-in rule of this id in the tenant, before any change; null for other ids. */
export function builtInRule(tenantId: string, id: string, nowMs: number): RuleRow | null {
  const found = builtInRules.find((rule) => builtInId(tenantId, rule) === id);
  return found ? unchanged(tenantId, found, nowMs) : null;
}

function unchanged(tenantId: string, rule: BuiltInRule, nowMs: number): RuleRow {
  const { id, ringsOften: _, ...settings } = rule;
  const stored = { name: builtInNames[id]?.name ?? id, ...settings, notify: {} };
  return {
    ...newRule(tenantId, builtInId(tenantId, rule), stored, false, nowMs),
    builtIn: id,
  };
}

/** The API and mail name them in English; the panel in the reader's language. */
const builtInNames: Record<string, { name: string }> = textsIn('en', await languages.en.load())
  .panel.alerts.builtIn;

const builtInId = (tenantId: string, { id }: BuiltInRule) =>
  externalUuid(tenantId, 'alert_rule', id);

/** The stored rules, own ones first, with the built-in ones that are not stored. */
export function allRules(tenantId: string, stored: readonly RuleRow[]): RuleRow[] {
  const own = stored.filter(({ builtIn }) => builtIn === null);
  const known = builtInRules.map((rule) => {
    const changed = stored.find(({ builtIn }) => builtIn === rule.id);
    return changed ?? unchanged(tenantId, rule, 0);
  });
  return [...own.sort((a, b) => a.createdAtMs - b.createdAtMs), ...known];
}

export const settingsOf = ({ settings }: Pick<RuleRow, 'settings'>): AlertRuleSettings =>
  JSON.parse(settings);

export function shownRule(row: RuleRow) {
  const { id, builtIn, enabled, version, dropped, mutedUntilMs } = row;
  const { name, kind, filters, notify, ...limits } = settingsOf(row);
  const isStored = version > 0;
  return {
    ...{ id, builtIn, name, kind, filters, ...limits, enabled, notify, version, dropped },
    recommended: builtInRules.some((rule) => rule.id === builtIn && !rule.ringsOften),
    mutedUntil: timestampOrNull(mutedUntilMs),
    createdAt: timestampOrNull(isStored ? row.createdAtMs : null),
    updatedAt: timestampOrNull(isStored ? row.updatedAtMs : null),
  };
}

/** The settings that decide which alerts a rule raises, as a text to compare. */
export function watchOf(row: Pick<RuleRow, 'settings'>): string {
  const { name, notify, ...watched } = settingsOf(row);
  return JSON.stringify(watched);
}

/** The filter that events are compared with: own ids of the host are UUIDs there. */
export function ruleFilter(filters: FilterJson, tenantId: string) {
  const parsed = parseFilterBody(filters, '/filters', ruleFilters);
  if ('filter' in parsed) return resolvedFilter(parsed.filter, tenantId);
  throw new Error('the filters of a stored alert rule cannot be read');
}
