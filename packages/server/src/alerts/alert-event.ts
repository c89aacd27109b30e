import {
  type AlertRuleSettings,
  eventIdFromUuid,
  formatTimestamp,
  type JsonObject,
  timestampOrNull,
} from '@indelible/protocol';
import { actOf, byService, changedBy, type OwnEvent, type Who } from '../own-event.ts';
import type { Finding } from './evaluate.ts';
import { settingsOf } from './rule.ts';
import type { RuleRow } from './store.ts';

const ruleOf = (row: RuleRow) => ({ type: 'alert_rule', id: row.id, name: settingsOf(row).name });
const alertOf = (row: RuleRow) => ({ ...ruleOf(row), type: 'alert' });

export function changedEvent(who: Who, before: RuleRow | null, after: RuleRow | null): OwnEvent {
  const either = after ?? before;
  if (either === null) throw new Error('nothing was changed');
  return changedBy(who, ruleOf(either), before && stateOf(before), after && stateOf(after));
}

function stateOf(row: RuleRow) {
  const settings: JsonObject = JSON.parse(row.settings);
  return { ...settings, enabled: row.enabled, builtIn: row.builtIn };
}

/** No message tells of the rule's alerts until then; null: they do again. */
export function mutedEvent(who: Who, row: RuleRow, untilMs: number | null): OwnEvent {
  const [from, to] = [timestampOrNull(row.mutedUntilMs), timestampOrNull(untilMs)];
  const diff = { mutedUntil: { from, to } };
  return actOf(who, untilMs === null ? 'unmute' : 'mute', ruleOf(row), { diff });
}

/** An alert: the finding of a rule, and which events have set it off. */
export function raisedEvent(row: RuleRow, finding: Finding): OwnEvent {
  const settings = settingsOf(row);
  const { atMs, group, count, events } = finding;
  return actOf(byService, 'raise', alertOf(row), {
    after: {
      ruleVersion: row.version,
      kind: settings.kind,
      at: formatTimestamp(atMs),
      count,
      group: groupShown(settings, group),
      sequences: events.map(({ sequence }) => sequence),
      events: events.map(({ uuid }) => eventIdFromUuid(uuid)),
    },
  });
}

/** What the events of an alert have in common. */
export function groupShown(
  { kind, groupBy }: AlertRuleSettings,
  group: string | null,
): { [name: string]: string } {
  if (group === null) return {};
  if (kind !== 'first_seen')
    return { [kind === 'threshold' ? (groupBy ?? 'all') : 'actor']: group };
  const [actor = '', value = ''] = group.split(' ');
  const names = { actor: 'resourceType', resource: 'resource', ip: 'network' };
  return { actor, [names[groupBy ?? 'actor']]: value };
}

export function acknowledgedEvent(
  who: Who,
  row: RuleRow,
  alertId: string,
  note: string | null,
): OwnEvent {
  const told = { after: { alertId, note }, correlationId: alertId };
  return actOf(who, 'acknowledge', alertOf(row), told);
}

/** The record of a message: which alerts it tells of, and to whom. Webhooks are told by it. */
export function toldEvent(row: RuleRow, alertIds: readonly string[]): OwnEvent {
  const { webhookIds } = settingsOf(row).notify;
  const after = { alerts: [...alertIds], ...(webhookIds && { webhookIds }) };
  return actOf(byService, 'notify', alertOf(row), { after });
}
