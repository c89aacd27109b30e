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
