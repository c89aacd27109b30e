/**
 * Receiving webhooks: whether a message is the service's, and what it says. Needs WebCrypto alone.
 *
 * @module webhooks
 */

export type * from './messages.ts';
export { type WebhookErrorCode, WebhookVerificationError } from './verification-error.ts';
export {
  type VerifiedWebhook,
  verifySignature,
  verifyWebhook,
  type WebhookHeaders,
  type WebhookOptions,
} from './verify-webhook.ts';
