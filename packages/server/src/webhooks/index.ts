export type { WebhookCounts } from './lease.store.ts';
