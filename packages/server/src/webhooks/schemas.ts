import { facetNames, messageTypes, webhookFormats } from '@indelible/protocol';
import {
  count,
  countOrNull,
  described,
  idWith,
  label,
  named,
  nullable,
  strict,
  time,
  timeOrNull,
} from '../http/field-schemas.ts';
import { filterSchema, storedFilters } from '../http/filter-schema.ts';
import { PageQuery, pageOf } from '../http/keyset-page.ts';
import { Type } from '../http/type.ts';
import { outboundUrlMax } from '../outbound/outbound-url.ts';
import { headerValueMax, ownHeadersMax } from './own-headers.ts';

const optionText = Type.String({ maxLength: 1_024 });

/** The members of POST and PATCH; `readSettings` checks values further. */
const given = {
  url: Type.String({
    maxLength: outboundUrlMax,
    description: 'Where messages go: https. To change it, send the credential again.',
  }),
  name: Type.Unsafe<string | null>({
    ...label('What people call the webhook.'),
    type: ['string', 'null'],
  }),
  format: Type.Enum([...webhookFormats], {
    description:
      '`webhook`: messages of Standard Webhooks; the others are formats of the products that they name; `generic` is plain JSON.',
  }),
  types: Type.Array(Type.Enum([...messageTypes]), {
    minItems: 1,
    maxItems: messageTypes.length,
    uniqueItems: true,
    description: '`audit.export.ready` only for the format `webhook`.',
  }),
  filters: filterSchema('WebhookFilters', facetNames),
  options: Type.Record(Type.String(), optionText, {
    maxProperties: 20,
    description: "The format's own settings.",
  }),
  credential: nullable({
    minLength: 1,
    maxLength: 4_096,
    description:
      'What the receiver asks for, such as a token; stored sealed, never shown again. Not for the format `webhook`.',
  }),
  headers: Type.Record(Type.String(), nullable({ maxLength: headerValueMax }), {
    maxProperties: 2 * ownHeadersMax,
    description:
      `Headers of each message, at most ${ownHeadersMax}; stored sealed, values are never shown again. A change keeps ` +
      'those that it does not name; `null` removes one. To change the host of `url`, send them again.',
  }),
};

const { url, ...others } = given;
export const WebhookInput = named('WebhookInput', {
  url,
  ...Type.Partial(Type.Object(others)).properties,
});
export const WebhookChange = Type.Partial(Type.Object(given), {
  ...strict,
  title: 'WebhookChange',
  description: 'Omitted members keep their value.',
});

const delivery = {
  id: idWith('dlv_'),
  messageId: idWith('msg_', 'Header `webhook-id`, the same at every attempt.'),
  type: Type.Enum([...messageTypes, 'audit.webhook.test']),
  status: Type.Enum(['delivered', 'failed']),
  attempt: Type.Integer({ minimum: 1 }),
  firstSequence: countOrNull('Of the first event in it.'),
  lastSequence: countOrNull('Of the last event in it.'),
  events: count('How many are in it.'),
  at: time('When the attempt began.'),
  durationMs: count('How long it took.'),
  responseStatus: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  response: nullable({ description: 'What the receiver answered: one line of at most 1 KiB.' }),
  reason: nullable({ description: 'Why it failed.' }),
  nextAttemptAt: timeOrNull('When the message is tried again, if it is.'),
};
const Delivery = named('WebhookDelivery', delivery);

const webhook = {
  id: idWith('whk_'),
  name: nullable({ description: 'What people call the webhook.' }),
  url: Type.String(),
  format: given.format,
  types: given.types,
  filters: storedFilters(),
  options: given.options,
  hasCredential: Type.Boolean(),
  headerNames: Type.Array(Type.String(), {
    description: 'Names of its `headers`, in lower case, sorted.',
  }),
  status: Type.Enum(['active', 'paused']),
  pausedBecause: Type.Unsafe<'requested' | 'failing' | null>({
    type: ['string', 'null'],
    enum: ['requested', 'failing', null],
    description: '`failing`: the last attempt failed, or the receiver answered 410.',
  }),
  nextSequence: count('All events of the log before this one are delivered or do not match.'),
  behind: count('Entries of the log from there to its end.'),
  attempt: count('Failed attempts of the message that is due.'),
  nextAttemptAt: timeOrNull('When it is tried again; null unless an attempt has failed.'),
  lastDelivery: Type.Unsafe<object | null>({ anyOf: [Delivery, { type: 'null' }] }),
  previousSecretValidUntil: timeOrNull(
    'Until then messages are also signed with the previous secret.',
  ),
  createdAt: time('When it was made.'),
  updatedAt: time('When it was last changed.'),
};
const Webhook = described('Webhook', 'The webhook as it is now.', webhook);

const secret = Type.String({
  pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
  description: 'Signs messages (Standard Webhooks); shown this once.',
});
const NewWebhook = described('NewWebhook', 'The new webhook.', {
  ...webhook,
  secret: Type.Optional(secret),
});

export const listSchema = {
  operationId: 'listWebhooks',
  summary: 'Webhooks, newest first',
  description: 'With their position in the log and their last delivery.',
  response: { 200: pageOf('WebhookPage', Webhook, 'One page of webhooks, newest first.') },
};

export const createSchema = {
  operationId: 'createWebhook',
  'x-refuses': [409],
  summary: 'Make a webhook',
  description:
    'Begins at the present end of the log. Needs `events:read` too. At most 20 a tenant, `409` above that.',
  body: WebhookInput,
  response: { 201: NewWebhook },
};

export const getSchema = {
  operationId: 'getWebhook',
  summary: 'One webhook',
  description: 'With its position in the log and its last delivery; never with its secret.',
  response: { 200: Webhook },
};

export const changeSchema = {
  operationId: 'changeWebhook',
  summary: 'Change a webhook',
  description: 'Needs `events:read` too, unless only the name changes.',
  body: WebhookChange,
  response: { 200: Webhook },
};

export const removeSchema = {
  operationId: 'removeWebhook',
  summary: 'Remove a webhook and its deliveries',
  description: 'Takes effect at once and cannot be undone. Recorded.',
  response: { 204: Type.Null({ description: 'It is removed.' }) },
};

export const pauseSchema = {
  operationId: 'pauseWebhook',
  summary: 'Pause a webhook',
  description: 'It keeps its position in the log.',
  response: { 200: Webhook },
};

export const resumeSchema = {
  operationId: 'resumeWebhook',
  summary: 'Resume a webhook',
  description: 'Continues at once where it stopped, with the full number of attempts.',
  response: { 200: Webhook },
};

export const rotateSchema = {
  operationId: 'replaceWebhookSecret',
  'x-refuses': [409],
  summary: 'Replace the signing secret',
  description: 'The previous one also signs for 24 hours. `409` for a format that is not signed.',
  response: {
    200: described('NewWebhookSecret', 'The new secret.', {
      secret,
      previousValidUntil: time('Until then the former one signs too.'),
    }),
  },
};

export const testSchema = {
  operationId: 'testWebhook',
  'x-refuses': [409],
  summary: 'Call the receiver without any event',
  description:
    "A signed message of type `audit.webhook.test`, or the format's health check; recorded like a delivery. " +
    '`409` while another one is under way.',
  response: {
    200: described('WebhookTest', 'What the receiver answered.', {
      ok: Type.Boolean(),
      status: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
      reason: nullable({ description: 'Why it is not ok.' }),
      response: nullable({ description: 'One line of at most 1 KiB of the answer.' }),
      durationMs: count('How long it took.'),
    }),
  },
};

export const replaySchema = {
  operationId: 'replayWebhook',
  'x-refuses': [409],
  summary: 'Deliver again from an earlier event on',
  description:
    'Goes back, and not behind what the plan still shows: `nextSequence` says from where. `409` if the ' +
    'webhook has not come to this event yet. Needs `events:read` too.',
  body: named('WebhookReplay', { fromSequence: count('The first event to be sent again.') }),
  response: { 202: Webhook },
};

export const skipSchema = {
  operationId: 'skipWebhookEvents',
  'x-refuses': [409],
  summary: 'Pass events that the receiver never accepts',
  description:
    'Events before `toSequence` are not sent, unless they are replayed; the log records the skip with its reason. ' +
    '`409` if the webhook is there already, or the log is shorter. Needs `events:read` too.',
  body: named('WebhookSkip', {
    toSequence: count('The first event to be sent next.'),
    reason: Type.String({ description: 'Why, for the log.', minLength: 1, maxLength: 1000 }),
  }),
  response: { 202: Webhook },
};

export const deliveriesSchema = {
  operationId: 'listWebhookDeliveries',
  summary: 'Deliveries of a webhook, newest first',
  description: 'Every attempt of the last 30 days, up to 1,000.',
  querystring: PageQuery,
  response: {
    200: pageOf('WebhookDeliveryPage', Delivery, 'One page of deliveries, newest first.'),
  },
};
