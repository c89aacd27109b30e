import { type TProperties, Type } from 'typebox';
import { ListedEvent } from '../events/index.ts';
import { receivedCall, strict, time, uuid } from '../http/index.ts';

/* The messages of the format `webhook`, for the OpenAPI document. */

const message = (title: string, type: string, data: TProperties) =>
  Type.Object(
    {
      type: Type.Literal(type),
      timestamp: time('When the message was first made.'),
      data: Type.Object({ tenantId: uuid('Whose log it is.'), ...data }, strict),
    },
    { ...strict, title },
  );

const EventsRecorded = message('EventsRecorded', 'audit.events.recorded', {
  events: Type.Array(ListedEvent, {
    ...{ minItems: 1, maxItems: 100 },
    description: 'In the order of the log, in at most about 4 MiB.',
  }),
});

const ReadyExport = Type.Object(
  {
    id: Type.String({ pattern: '^exp_[0-9a-z]{26}$' }),
    rows: Type.Integer({ minimum: 0 }),
    bytes: Type.Integer({ minimum: 0 }),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Of the whole file.' }),
    format: Type.Enum(['csv', 'ndjson']),
    expiresAt: time('Until when the file is kept.'),
  },
  { ...strict, title: 'ReadyExport' },
);
const ExportReady = message('ExportReady', 'audit.export.ready', { export: ReadyExport });

const WebhookTested = message('WebhookTested', 'audit.webhook.test', {
  webhookId: Type.String({ pattern: '^whk_[0-9a-z]{26}$' }),
});

const answers = {
  '200': { description: 'The message is delivered: any 2xx within ten seconds says so.' },
  '410': { description: 'The service pauses the webhook.' },
  default: { description: 'The service sends the message again, up to eight times in all.' },
};

const about = (operationId: string, summary: string, description: string) => ({
  ...{ tags: ['Webhooks'], operationId, summary, description },
});

/** By the type of the message. */
export const webhookMessages = {
  'audit.events.recorded': receivedCall(
    {
      ...about(
        'receiveEvents',
        'Events that were recorded',
        'At least once and in the order of the log: keep the ids of events, and skip those that you have.',
      ),
      message: EventsRecorded,
    },
    answers,
  ),
  'audit.export.ready': receivedCall(
    {
      ...about(
        'receiveExport',
        'An export whose file is ready',
        '`downloadExport` gets the file. For webhooks that have this type among theirs.',
      ),
      message: ExportReady,
    },
    answers,
  ),
  'audit.webhook.test': receivedCall(
    {
      ...about(
        'receiveTest',
        'A test',
        'What `testWebhook` sends, once: the answer is its result.',
      ),
      message: WebhookTested,
    },
    { '200': { description: 'The receiver works: any 2xx says so.' } },
  ),
};
