export type { WebhookCounts } from './lease.store.ts';
export { webhookIdPrefix } from './message-body.ts';
export { webhookMessages } from './message-schemas.ts';
export { webhooksTaking } from './store.ts';
