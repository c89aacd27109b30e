import type { TProperties } from 'typebox';
import { ListedEvent } from '../events/schemas.ts';
import { exact, idWith, named, nullable, time, uuid } from '../http/field-schemas.ts';
import { receivedCall } from '../http/received-call.ts';
import { Type } from '../http/type.ts';

/* The messages of the format `webhook`, for the OpenAPI document. */

const message = (title: string, type: string, data: TProperties) =>
  named(title, {
    type: Type.Literal(type),
    timestamp: time('When the message was first made.'),
    data: exact({ tenantId: uuid('Whose log it is.'), ...data }),
  });

const EventsRecorded = message('EventsRecorded', 'audit.events.recorded', {
  events: Type.Array(ListedEvent, {
    minItems: 1,
    maxItems: 100,
    description: 'In the order of the log, in at most about 4 MiB.',
  }),
});

const ReadyExport = named('ReadyExport', {
  id: idWith('exp_'),
  rows: Type.Integer({ minimum: 0 }),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Of the whole file.' }),
  format: Type.Enum(['csv', 'ndjson']),
  expiresAt: time('Until when the file is kept.'),
});
const ExportReady = message('ExportReady', 'audit.export.ready', { export: ReadyExport });

const RaisedAlerts = named('RaisedAlerts', {
  ruleId: uuid('The rule.'),
  ruleName: nullable({ description: 'What people call it.' }),
  count: Type.Integer({ minimum: 1, description: 'Alerts since the last message about it.' }),
  ids: Type.Array(idWith('evt_audit_'), {
    description: "Of the alerts' events, oldest first.",
  }),
  url: Type.String({ description: 'Their page in the panel, which needs sign-in.' }),
});
const AlertRaised = message('AlertRaised', 'audit.alert.raised', { alerts: RaisedAlerts });

const WebhookTested = message('WebhookTested', 'audit.webhook.test', {
  webhookId: idWith('whk_'),
});

const call = { tags: ['Webhooks'] };
const taken = {
  ...call,
  responses: {
    '200': { description: 'The message is delivered: any 2xx within ten seconds says so.' },
    '410': { description: 'The service pauses the webhook.' },
    default: { description: 'The service sends the message again, up to eight times in all.' },
  },
};

/** By the type of the message. */
export const webhookMessages = {
  'audit.events.recorded': receivedCall({
    ...taken,
    operationId: 'receiveEvents',
    summary: 'Events that were recorded',
    description:
      'At least once and in the order of the log: keep the ids of events, and skip those that you have.',
    message: EventsRecorded,
  }),
  'audit.export.ready': receivedCall({
    ...taken,
    operationId: 'receiveExport',
    summary: 'An export whose file is ready',
    description: '`downloadExport` gets the file. For webhooks that have this type among theirs.',
    message: ExportReady,
  }),
  'audit.alert.raised': receivedCall({
    ...taken,
    operationId: 'receiveAlert',
    summary: 'Alerts that a rule has raised',
    description:
      'At most one message about a rule in ten minutes. For webhooks that have this type among theirs.',
    message: AlertRaised,
  }),
  'audit.webhook.test': receivedCall({
    ...call,
    operationId: 'receiveTest',
    summary: 'A test',
    description: 'What `testWebhook` sends, once: the answer is its result.',
    message: WebhookTested,
    responses: { '200': { description: 'The receiver works: any 2xx says so.' } },
  }),
};
