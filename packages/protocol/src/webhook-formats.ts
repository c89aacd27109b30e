/** The formats of messages: of Standard Webhooks, and of the products that they name. */
export const webhookFormats = [
  'webhook',
  'splunk_hec',
  'datadog',
  'elastic',
  'generic',
  'slack',
  'teams',
  'pagerduty',
] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/** The types of messages that a webhook may subscribe to; a test has its own type. */
export const messageTypes = [
  'audit.events.recorded',
  'audit.export.ready',
  'audit.alert.raised',
] as const;
export type MessageType = (typeof messageTypes)[number];

/** The most webhooks of one tenant. */
export const webhooksMax = 20;

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Pauses after the first, second, … failed attempt of a message, by Standard Webhooks. */
export const retryPausesMs: readonly number[] = [
  ...[5 * second, 5 * minute, 30 * minute],
  ...[2 * hour, 5 * hour, 10 * hour, 10 * hour],
];
