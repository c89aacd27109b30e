import type { AlertGroup, AlertRuleSettings, FilterJson } from '@indelible/protocol';
import type { JsonCalls } from './json-calls.ts';

export interface AlertRuleInput
  extends Omit<AlertRuleSettings, 'filters' | 'groupBy' | 'followedBy' | 'notify'>,
    Partial<Pick<AlertRuleSettings, 'notify'>> {
  /** The events that count: any value of each member; a leading `!` excludes. */
  filters: { [filter in keyof FilterJson]?: string | readonly string[] };
  /** Null, as without it in a new rule: all events together. */
  groupBy?: AlertGroup | null;
  /** For `threshold`: such an event must follow, of the same group and within the window. */
  followedBy?: AlertRuleInput['filters'];
  /** Default: true. */
  enabled?: boolean;
}

/** A rule; `id` is also the `resource.id` of its alerts. */
export interface AlertRule extends AlertRuleSettings {
  id: string;
  /** Its name among the built-in rules; null for a rule of the tenant. */
  builtIn: string | null;
  /** A built-in rule that ordinary traffic rarely sets off. */
  recommended: boolean;
  enabled: boolean;
  /** Addresses of `notify.emails` that get no mail before they confirm by a link. */
  awaitingConfirmation: string[];
  /** Alerts name it; 0 for a built-in rule that was never changed. */
  version: number;
  /** Findings above 60 in an hour since the rule began, which raised no alert. */
  dropped: number;
  mutedUntil: string | null;
  createdAt: string | null;
  updatedAt: string | null;
}

export interface AlertRules {
  /** The tenant's own rules by age, then the built-in ones. */
  data: AlertRule[];
  /** Entries of the log that are not evaluated yet. */
  behind: number;
  /** Events that came over an hour late, and set nothing off. */
  lateSkipped: number;
}

/** What a rule would have raised, if each event had been received at its time. */
export interface TestedRule {
  /** The last 500, by time; `events` are the last ten of each. */
  alerts: {
    at: string;
    group: Record<string, string>;
    count: number;
    events: { id: string; sequence: number }[];
  }[];
  /** Every day (UTC) of the range. */
  perDay: { day: string; alerts: number }[];
  total: number;
  /** Findings above 60 in an hour. */
  dropped: number;
  /** Events that match the filters. */
  matched: number;
}

/** Times in ISO 8601; `until` is now unless said. */
export interface TestRange {
  since: string;
  until?: string;
}

/** Alert rules of the client's tenant. Alerts are events: action `raise`, resource `alert`. */
export interface AlertCalls {
  rules(): Promise<AlertRules>;
  get(id: string): Promise<AlertRule>;
  create(rule: AlertRuleInput): Promise<AlertRule>;
  /** Omitted members keep their value. */
  update(id: string, changes: Partial<AlertRuleInput>): Promise<AlertRule>;
  /** A built-in rule becomes as it was at first. */
  remove(id: string): Promise<void>;
  /** A rule, or the id of one, on the past. Ten million events take up to a minute. */
  test(rule: string | AlertRuleInput, range: TestRange): Promise<TestedRule>;
  /** Until then alerts are recorded, and no message tells of them; null ends it. */
  mute(id: string, until: string | null): Promise<AlertRule>;
  /** Records once that the alert with this event id was seen. */
  acknowledge(
    ruleId: string,
    alertId: string,
    note?: string,
  ): Promise<{ alertId: string; acknowledgedAt: string }>;
}

const path = '/api/alert-rules';

export function alertCalls({ get, post, put, remove }: JsonCalls): AlertCalls {
  const of = (id: string) => `${path}/${encodeURIComponent(id)}`;
  return {
    rules: () => get(path),
    get: (id) => get(of(id)),
    create: (rule) => post(path, rule),
    update: (id, changes) => put('PUT', of(id), changes),
    remove: (id) => remove(of(id)),
    test: (rule, range) =>
      typeof rule === 'string'
        ? put('POST', `${of(rule)}/test`, range)
        : put('POST', `${path}/test`, { rule, ...range }),
    mute: (id, until) => put('POST', `${of(id)}/mute`, { until }),
    acknowledge: (ruleId, alertId, note) =>
      put('POST', `${of(ruleId)}/acknowledge`, {
        alertId,
        ...(note === undefined ? {} : { note }),
      }),
  };
}
