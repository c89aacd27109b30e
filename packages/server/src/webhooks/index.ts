export type { WebhookCounts } from './lease.store.ts';
export { webhookMessages } from './message-schemas.ts';
