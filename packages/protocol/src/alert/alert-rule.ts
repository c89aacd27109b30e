import type { FilterJson } from '../filter/event-filter.ts';

/*
 * | Kind           | Raises an alert when                                          |
 * |----------------|---------------------------------------------------------------|
 * | `match`        | an event matches                                              |
 * | `threshold`    | `count` events match within `windowMinutes`                   |
 * | `first_seen`   | the actor has not matched so for `lookbackDays`               |
 * | `silence`      | no event has matched for `windowMinutes`                      |
 * | `unusual_rate` | an actor matches more often than in that hour of former weeks |
 */

export const alertKinds = ['match', 'threshold', 'first_seen', 'silence', 'unusual_rate'] as const;
export type AlertKind = (typeof alertKinds)[number];

/** What counts together. Of `first_seen` what is new: resource type, resource, or network. */
export const alertGroups = ['actor', 'resource', 'ip'] as const;
export type AlertGroup = (typeof alertGroups)[number];

export interface AlertRuleSettings {
  name: string;
  kind: AlertKind;
  /** The events that count. */
  filters: FilterJson;
  /** For `threshold`: events. For `unusual_rate`: no lower number in an hour is unusual. */
  count?: number;
  /** For `threshold` and `silence`. */
  windowMinutes?: number;
  /** For `threshold`, where absent means all events together, and for `first_seen`. */
  groupBy?: AlertGroup;
  /**
   * Of `threshold`: the alert needs such an event after the others, of the same group and within
   * the window.
   */
  followedBy?: FilterJson;
  /** For `first_seen` and `unusual_rate`. */
  lookbackDays?: number;
  notify: AlertNotify;
}

export interface AlertNotify {
  /** Absent: the tenant's `notifyEmails`. */
  emails?: string[];
  /** Absent: every webhook with the type `audit.alert.raised`. */
  webhookIds?: string[];
}

export const limitNames = ['count', 'windowMinutes', 'lookbackDays'] as const;
export type LimitName = (typeof limitNames)[number];

interface Range {
  min: number;
  max: number;
  /** Absent: the rule must say it. */
  preset?: number;
}

/** The members that a kind has, with their ranges. */
export const alertLimits: Record<AlertKind, { [limit in LimitName]?: Range }> = {
  match: {},
  threshold: { count: { min: 2, max: 1_000 }, windowMinutes: { min: 1, max: 1_440 } },
  first_seen: { lookbackDays: { min: 1, max: 90, preset: 30 } },
  silence: { windowMinutes: { min: 5, max: 43_200 } },
  unusual_rate: {
    count: { min: 10, max: 100_000, preset: 50 },
    lookbackDays: { min: 14, max: 90, preset: 28 },
  },
};

/** Whether a rule of this kind has a `groupBy`. */
export const alertGrouping: Record<AlertKind, 'required' | 'optional' | 'none'> = {
  match: 'none',
  threshold: 'optional',
  first_seen: 'required',
  silence: 'none',
  unusual_rate: 'none',
};
