import { type AlertGroup, alertGroups, alertKinds, facetNames } from '@indelible/protocol';
import {
  count,
  described,
  emails,
  exact,
  idWith,
  label,
  named,
  nullable,
  strict,
  time,
  timeOrNull,
  uuid,
} from '../http/field-schemas.ts';
import { filterSchema, storedFilters } from '../http/filter-schema.ts';
import { Type } from '../http/type.ts';

const whole = (description: string) => Type.Integer({ minimum: 1, maximum: 100_000, description });

const aboutGroup =
  'Of `threshold`: what is counted together; without it all events. Of `first_seen`, required: what ' +
  "is new for the actor: `actor` the resource type, `resource` the resource, `ip` the network (the address's " +
  'first 24 bits, or 48 of IPv6).';

const limits = {
  count: whole(
    'Of `threshold`: how many events, 2 to 1,000. Of `unusual_rate`: fewer events in an hour are never ' +
      'unusual, 10 to 100,000, 50 unless said.',
  ),
  windowMinutes: whole(
    'Of `threshold`: within how many minutes, 1 to 1,440. Of `silence`: after how many minutes without a ' +
      'matching event, 5 to 43,200.',
  ),
  groupBy: Type.Enum([...alertGroups], { description: aboutGroup }),
  lookbackDays: whole(
    'Of `first_seen`: for how many days the actor has not done so, 1 to 90, 30 unless said. Of ' +
      '`unusual_rate`: how far back the usual rate is looked for, 14 to 90, 28 unless said.',
  ),
};

const noGroup = Type.Unsafe<AlertGroup | null>({
  type: ['string', 'null'],
  enum: [...alertGroups, null],
  description: `${aboutGroup} Null: without it.`,
});

const notify = named('AlertNotify', {
  emails: Type.Optional(
    emails(
      "Who is mailed; without it the tenant's `notifyEmails`, `[]` is no recipient. Others than " +
        '`notifyEmails` first confirm by a link that is mailed to them.',
    ),
  ),
  webhookIds: Type.Optional(
    Type.Array(idWith('whk_'), {
      maxItems: 20,
      uniqueItems: true,
      description: 'Which webhooks are told; without it each with the type `audit.alert.raised`.',
    }),
  ),
});

const kind = Type.Enum([...alertKinds], {
  description:
    '`match`: each matching event. `threshold`: `count` of them within `windowMinutes`. `first_seen`: an ' +
    'actor does so for the first time in `lookbackDays`. `silence`: none for `windowMinutes`. `unusual_rate`: ' +
    'far more of an actor in an hour than in the same hour of the weeks before.',
});

const enabled = Type.Boolean({ description: 'Whether it is evaluated; a new rule is.' });
const needed = {
  name: label('What people call the rule.'),
  kind,
  filters: filterSchema('AlertFilters', facetNames),
};
const followedBy = filterSchema('AlertFollowedBy', facetNames);
const others = { ...limits, groupBy: noGroup, followedBy, enabled, notify };

const RuleInput = named('AlertRuleInput', {
  ...needed,
  ...Type.Partial(Type.Object(others)).properties,
});
export const RuleChange = Type.Partial(Type.Object({ ...needed, ...others }), {
  ...strict,
  title: 'AlertRuleChange',
  description:
    'Omitted members keep their value. Name, kind, filters and `groupBy` of a built-in rule are fixed.',
});

const rule = {
  id: uuid('Also the `resource.id` of its alerts.'),
  builtIn: nullable({ description: 'Its name in the table of built-in rules; null for others.' }),
  recommended: Type.Boolean({
    description: 'A built-in rule that ordinary traffic rarely sets off.',
  }),
  name: needed.name,
  kind,
  filters: storedFilters(),
  ...Type.Partial(Type.Object({ ...limits, followedBy: storedFilters() })).properties,
  enabled,
  notify,
  awaitingConfirmation: Type.Array(Type.String(), {
    description:
      'Addresses of `notify.emails` that get no mail yet: outside `notifyEmails`, an address confirms once.',
  }),
  version: count('Counts its changes; alerts name it.'),
  dropped: count('Findings above 60 in an hour since the rule began, which raised no alert.'),
  mutedUntil: timeOrNull('Until then its alerts are recorded, and no message tells of them.'),
  createdAt: timeOrNull('Null: built in and never changed.'),
  updatedAt: nullable({ format: 'date-time' }),
};
const AlertRule = described('AlertRule', 'The rule as it is now.', rule);

export const listSchema = {
  operationId: 'listAlertRules',
  summary: 'Alert rules, the built-in ones too',
  description:
    "The tenant's own rules by age, then the built-in ones. Alerts are events: action `raise`, resource type `alert`.",
  response: {
    200: described('AlertRuleList', 'All rules.', {
      data: Type.Array(AlertRule),
      behind: count('Entries of the log that are not evaluated yet.'),
      lateSkipped: count('Events that came over an hour late, and set nothing off.'),
    }),
  },
};

export const createSchema = {
  operationId: 'createAlertRule',
  'x-refuses': [409],
  summary: 'Make an alert rule',
  description: 'Begins at the present end of the log. At most 100 a tenant, `409` above that.',
  body: RuleInput,
  response: { 201: AlertRule },
};

export const getSchema = {
  operationId: 'getAlertRule',
  summary: 'One alert rule',
  description: 'Also a built-in one that is not switched on.',
  response: { 200: AlertRule },
};

export const changeSchema = {
  operationId: 'changeAlertRule',
  'x-refuses': [409],
  summary: 'Change an alert rule, switch it on or off',
  description:
    'What counted before does not count any more, unless only `notify` or the name changes.',
  body: RuleChange,
  response: { 200: AlertRule },
};

export const removeSchema = {
  operationId: 'removeAlertRule',
  'x-refuses': [409],
  summary: 'Remove an alert rule',
  description: 'Its alerts stay in the log. A built-in rule becomes as it was at first.',
  response: { 204: Type.Null({ description: 'It is removed.' }) },
};

export const muteSchema = {
  operationId: 'muteAlertRule',
  'x-refuses': [409],
  summary: 'Mute an alert rule',
  description: 'Alerts are still recorded; no message tells of them. Recorded.',
  body: named('AlertMuting', {
    until: timeOrNull('A moment of the next 90 days; null ends the muting.'),
  }),
  response: { 200: AlertRule },
};

export const acknowledgeSchema = {
  operationId: 'acknowledgeAlert',
  'x-refuses': [409],
  summary: 'Acknowledge an alert',
  description:
    "Recorded with the alert's id as `correlationId`; the same alert again is answered alike, and " +
    'leaves no second record.',
  body: named('Acknowledgement', {
    alertId: idWith('evt_audit_', "Id of the alert's event."),
    note: Type.Optional(label('What was found.')),
  }),
  response: {
    200: described('AcknowledgedAlert', 'It is acknowledged.', {
      alertId: Type.String(),
      acknowledgedAt: time('When it was acknowledged first.'),
    }),
  },
};

const range = {
  since: time('The alerts from this time on, of events by their own times.'),
  until: Type.Optional(time('The alerts before this time; now unless said.')),
};
const TestedRule = described('TestedRule', 'What the rule would have raised.', {
  alerts: Type.Array(
    named('TestedAlert', {
      at: time('The time of the event that completed it.'),
      group: Type.Record(Type.String(), Type.String(), {
        description: 'What the events have in common, such as `actor`.',
      }),
      count: count('How many events set it off.'),
      events: Type.Array(exact({ id: Type.String(), sequence: count('In the log.') }), {
        maxItems: 10,
        description: 'The last of them.',
      }),
    }),
    { maxItems: 500, description: 'The last 500, by time.' },
  ),
  perDay: Type.Array(
    exact({
      day: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'Of UTC.' }),
      alerts: count('Raised on it.'),
    }),
    { description: 'Every day of the range.' },
  ),
  total: count('All alerts.'),
  dropped: count('Findings above 60 in an hour, which raise no alert.'),
  matched: count('Events of the range that match the filters.'),
});

const tested = {
  reads: 'search' as const,
  description:
    'The alerts that the rule would have raised, if each event had been received at its time. Raises nothing. ' +
    'Needs `events:read` too. Ten million events take up to a minute.',
  response: { 200: TestedRule },
};

export const testSchema = {
  ...tested,
  operationId: 'testAlertRule',
  'x-refuses': [409],
  summary: 'Test an alert rule on the past',
  body: named('AlertTestRange', range),
};

export const testNewSchema = {
  ...tested,
  operationId: 'testNewAlertRule',
  'x-refuses': [409],
  summary: 'Test an alert rule before it is made',
  body: named('AlertTest', { rule: RuleInput, ...range }),
};
