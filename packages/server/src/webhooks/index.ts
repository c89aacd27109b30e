export type { WebhookCounts } from './lease.store.ts';
export { webhookIdPrefix } from './message-body.ts';
export { webhookMessages } from './message-schemas.ts';
export { webhooksTakingAlerts } from './store.ts';
