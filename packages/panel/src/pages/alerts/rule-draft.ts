import type { AlertRule, AlertRuleInput, EventCriteria } from '@indelible/client';
import {
  type AlertGroup,
  type AlertKind,
  type AlertNotify,
  alertGrouping,
  alertLimits,
  type LimitName,
  limitNames,
} from '@indelible/protocol';

/** A rule as the form holds it; numbers as typed. */
export interface RuleDraft {
  name: string;
  kind: AlertKind;
  filters: EventCriteria;
  /** For a threshold: the events that must follow. */
  followedBy: EventCriteria;
  limits: Record<LimitName, string>;
  groupBy: AlertGroup | '';
  /** Addresses as typed; without one the tenant's, or none if the rule said so. */
  emails: string;
  mailsNobody: boolean;
  /** Null: each that takes alerts. */
  webhookIds: string[] | null;
}

export const newRule: RuleDraft = {
  name: '',
  kind: 'match',
  filters: {},
  followedBy: {},
  groupBy: '',
  limits: { count: '', windowMinutes: '', lookbackDays: '' },
  emails: '',
  mailsNobody: false,
  webhookIds: null,
};

export function draftOf(rule: AlertRule): RuleDraft {
  const { name, kind, filters, followedBy = {}, notify, groupBy = '' } = rule;
  const text = (limit: LimitName) => String(rule[limit] ?? '');
  const limits = {
    count: text('count'),
    windowMinutes: text('windowMinutes'),
    lookbackDays: text('lookbackDays'),
  };
  const told = {
    emails: (notify.emails ?? []).join(', '),
    mailsNobody: notify.emails?.length === 0,
    webhookIds: notify.webhookIds ?? null,
  };
  return { name, kind, groupBy, limits, filters, followedBy, ...told };
}

/** What is sent: only members that the kind has; the service checks their values. */
export function inputOf(draft: RuleDraft): AlertRuleInput {
  const { name, kind, filters, followedBy, limits, groupBy } = draft;
  const known = limitNames.filter((limit) => alertLimits[kind][limit] && limits[limit].trim());
  return {
    name: name.trim(),
    kind,
    filters,
    ...Object.fromEntries(known.map((limit) => [limit, Number(limits[limit])])),
    ...(alertGrouping[kind] === 'none' ? {} : { groupBy: groupBy || null }),
    ...(kind === 'threshold' ? { followedBy } : {}),
    notify: notifyOf(draft),
  };
}

/** The input for a built-in rule, of which only these members may change. */
export function builtInInputOf(draft: RuleDraft): Partial<AlertRuleInput> {
  const { name, kind, filters, groupBy, followedBy, ...changes } = inputOf(draft);
  return changes;
}

function notifyOf({ emails, mailsNobody, webhookIds }: RuleDraft): AlertNotify {
  const typed = [...new Set(emails.split(/[\s,;]+/).filter((each) => each !== ''))];
  return {
    ...(typed.length > 0 || mailsNobody ? { emails: typed } : {}),
    ...(webhookIds === null ? {} : { webhookIds }),
  };
}

/** Whether everything is there that the kind needs, within its range. */
export function isInRange(text: string, { min, max }: { min: number; max: number }): boolean {
  const value = Number(text);
  return Number.isInteger(value) && value >= min && value <= max;
}

export function isComplete({ name, kind, limits, groupBy }: RuleDraft): boolean {
  const areInRange = limitNames.every((limit) => {
    const range = alertLimits[kind][limit];
    if (!range) return true;
    if (limits[limit].trim() === '') return range.preset !== undefined;
    return isInRange(limits[limit], range);
  });
  return name.trim() !== '' && areInRange && (alertGrouping[kind] !== 'required' || groupBy !== '');
}
