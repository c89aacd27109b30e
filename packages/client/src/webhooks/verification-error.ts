/**
 * Why a message is not to be believed. Stable codes:
 * - `missing_header`: one of webhook-id, webhook-timestamp, webhook-signature is not there
 * - `malformed_header`: it is there, and not of the form
 * - `too_old`, `too_new`: the timestamp is further from now than the tolerance
 * - `wrong_signature`: no signature is that of any of the secrets
 * - `malformed_body`: it is signed, but is no JSON object with a `type`
 */
export type WebhookErrorCode =
  | 'missing_header'
  | 'malformed_header'
  | 'too_old'
  | 'too_new'
  | 'wrong_signature'
  | 'malformed_body';

/** The message is not to be believed: answer 401, and do nothing. The message names no secret. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly code: WebhookErrorCode;

  constructor(code: WebhookErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
