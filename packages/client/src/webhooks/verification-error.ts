/**
 * Why a message is not accepted. Codes are stable:
 * - `missing_header`: webhook-id, webhook-timestamp or webhook-signature is absent
 * - `malformed_header`: one of them has a wrong form
 * - `too_old`, `too_new`: the timestamp is outside the tolerance
 * - `wrong_signature`: no signature matches a secret
 * - `malformed_body`: signed, but not a JSON object with a `type`
 */
export type WebhookErrorCode =
  | 'missing_header'
  | 'malformed_header'
  | 'too_old'
  | 'too_new'
  | 'wrong_signature'
  | 'malformed_body';

/** The message must be ignored: answer 401. The error text contains no secret. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly code: WebhookErrorCode;

  constructor(code: WebhookErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
