import {
  type AlertRuleSettings,
  type BuiltInRule,
  builtInRules,
  externalUuid,
  type FilterJson,
  resolvedFilter,
  storedFilter,
  timestampOrNull,
} from '@indelible/protocol';
import { languages } from '../../../../locales/languages.ts';
import { textsIn } from '../../../../locales/texts.ts';
import type { RuleKey, RuleRow } from './store.ts';

/** A rule before it is stored, which gives it times: an own one, or an unchanged built-in one. */
export function newRule(
  tenantId: string,
  id: string,
  settings: AlertRuleSettings,
  enabled: boolean,
): RuleRow {
  return {
    tenantId,
    id,
    settings: JSON.stringify(settings),
    enabled,
    builtIn: null,
    version: 0,
    fromSequence: 0,
    mutedUntilMs: null,
    silentAtMs: null,
    untold: [],
    tellAtMs: null,
    toldAtMs: null,
    dropped: 0,
    createdAtMs: 0,
    updatedAtMs: 0,
  };
}

function unchanged(tenantId: string, { id, ringsOften: _, ...settings }: BuiltInRule): RuleRow {
  const stored = { name: builtInNames[id]?.name ?? id, ...settings, notify: {} };
  const uuid = externalUuid(tenantId, 'alert_rule', id);
  return { ...newRule(tenantId, uuid, stored, false), builtIn: id };
}

/** The API and mail name them in English; the panel in the reader's language. */
const builtInNames: Record<string, { name: string }> = textsIn('en', await languages.en.load())
  .panel.alerts.builtIn;

/** The stored rules, own ones first, with the built-in ones that are not stored. */
export function allRules(tenantId: string, stored: readonly RuleRow[]): RuleRow[] {
  const own = stored.filter(({ builtIn }) => builtIn === null);
  const known = builtInRules.map((rule) => {
    const changed = stored.find(({ builtIn }) => builtIn === rule.id);
    return changed ?? unchanged(tenantId, rule);
  });
  return [...own.sort((a, b) => a.createdAtMs - b.createdAtMs), ...known];
}

/** The rule of this id, stored or built in. */
export const ruleWith = ({ tenantId, id }: RuleKey, stored: readonly RuleRow[]) =>
  allRules(tenantId, stored).find((rule) => rule.id === id);

export const settingsOf = ({ settings }: Pick<RuleRow, 'settings'>): AlertRuleSettings =>
  JSON.parse(settings);

/** `unconfirmed` keeps the addresses that get no mail before they have confirmed. */
export function shownRule(row: RuleRow, unconfirmed: (emails: readonly string[]) => string[]) {
  const { id, builtIn, enabled, version, dropped, mutedUntilMs } = row;
  const { name, kind, filters, notify, ...limits } = settingsOf(row);
  const isStored = version > 0;
  return {
    id,
    builtIn,
    name,
    kind,
    filters,
    ...limits,
    enabled,
    notify,
    version,
    dropped,
    awaitingConfirmation: unconfirmed(notify.emails ?? []),
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
  return resolvedFilter(storedFilter(JSON.stringify(filters)), tenantId);
}
