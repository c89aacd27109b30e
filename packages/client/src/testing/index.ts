/**
 * For tests of host products: a sink with the rules of the service, and assertions on its events.
 */

export {
  type AuditCapture,
  type CapturedEvent,
  type CaptureOptions,
  captureAudit,
} from './capture-audit.ts';
export { AuditAssertionError, type ExpectedEvent, expectAudited } from './expect-audited.ts';
