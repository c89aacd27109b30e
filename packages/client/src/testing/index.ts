/**
 * For the tests of host products: a sink that judges as the service does, and what it was given.
 */

export {
  type AuditCapture,
  type CapturedEvent,
  type CaptureOptions,
  captureAudit,
} from './capture-audit.ts';
export { AuditAssertionError, type ExpectedEvent, expectAudited } from './expect-audited.ts';
