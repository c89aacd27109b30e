/**
 * Receiving webhooks: whether a message is the service's, and what it says. Needs WebCrypto alone.
 *
 * @module webhooks
 */

export type * from './messages.ts';
export {
  type VerifiedWebhook,
  verifySignature,
  verifyWebhook,
  type WebhookErrorCode,
  type WebhookHeaders,
  type WebhookOptions,
  WebhookVerificationError,
} from './verify-webhook.ts';
