import { type ErrorCode, errorCodes, uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import type { BatchResult } from '../api-types.ts';
import { IndelibleError } from '../http/errors.ts';
import { eventOf } from './ready-event.ts';

/**
 * Why events must be sent again. `away`: no answer, or a failing or busy service; it recovers by
 * itself. `refused`: an operator must correct the key, the address or a proxy.
 */
export interface Trouble {
  kind: 'away' | 'refused';
  /** `tenants`: of those with events to be sent again; others may pass. `all`: of every event. */
  scope: 'tenants' | 'all';
  error: Error;
}

/**
 * What the failure of a whole call is about. `unclear`: no answer, one of another server or a crash
 * of the service may be an outage, or the answer to the content of an event.
 */
export function subjectOf(error: Error): 'content' | 'tenants' | 'all' | 'unclear' {
  if (!(error instanceof IndelibleError)) return 'unclear';
  const { code, status } = error;
  if (!Object.hasOwn(errorCodes, code) || code === 'internal_error') return 'unclear';
  if (status === 400 || status === 413 || status === 422) return 'content';
  // No event of the batch could be stored: the logs of other tenants may take theirs.
  return code === 'unavailable' ? 'tenants' : 'all';
}

/** How wrong a clock may be: an event further in the future is at fault itself. */
const clockErrorMsMax = 24 * 3_600_000;

/** Codes of one event in a batch that the service did not process completely. */
const passingCodes: readonly ErrorCode[] = ['unavailable', 'rate_limited', 'internal_error'];

/**
 * The clocks of producer and service may differ. The service accepts the event once its clock has
 * reached the timestamp, so the event must not be dropped.
 */
export function isPassing(code: string, text: string): boolean {
  if (code !== 'timestamp_in_future') return (passingCodes as readonly string[]).includes(code);
  const uuid = uuidFromEventId(String(eventOf(text).id));
  return uuid !== null && uuidTimeMs(uuid) <= Date.now() + clockErrorMsMax;
}

export function refusalOf({ error }: BatchResult): IndelibleError {
  const { code = 'validation_failed', detail = 'refused', errors = [] } = error ?? {};
  // A newer service may have codes that this client does not know.
  const status = Object.hasOwn(errorCodes, code) ? errorCodes[code].status : 422;
  return new IndelibleError({ status, code, detail, requestId: null, errors: [...errors] });
}

const awayStatuses: readonly number[] = [408, 425, 429];

/** Whether a proxy or firewall refuses the event, and an operator must act. */
export function isOfProxy(error: Error): boolean {
  const { status = 500 } = error as Partial<IndelibleError>;
  return status >= 400 && status < 500 && !awayStatuses.includes(status);
}

export function troubleOf(error: Error, scope: Trouble['scope']): Trouble {
  const { status = 500, code } = error as Partial<IndelibleError>;
  const isAway = status >= 500 || awayStatuses.includes(status) || code === 'timestamp_in_future';
  return { kind: isAway ? 'away' : 'refused', scope, error };
}
