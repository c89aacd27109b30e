import { eventIdFromUuid, formatTimestamp, maskText, typeId } from '@indelible/protocol';
import type { OutboundResult } from '../outbound/index.ts';
import type { RestoreOutcome, RestoreRequest } from './store.ts';

/* The call to a host product, and the meaning of its answer. */

export const restoreIdPrefix = 'rst_';

/** The parts of the event in the call; states are canonical JSON texts. */
export interface RestoredEvent {
  before: string | null;
  after: string | null;
  recordedByKind: string;
  recordedById: string;
}

/**
 * The call's JSON text. States are inserted as the texts that the log commits to. `current` is the
 * last recorded state; undefined if the log does not contain it.
 */
export function restoreBody(
  request: RestoreRequest,
  event: RestoredEvent,
  current: string | null | undefined,
): string {
  const { resourceType, resourceId, resourceName } = request;
  const known = {
    type: 'audit.restore.requested',
    id: typeId(restoreIdPrefix, request.id),
    tenantId: request.tenantId,
    eventId: eventIdFromUuid(request.eventUuid),
    resource: { type: resourceType, id: resourceId, name: resourceName },
    to: request.target,
    requestedBy: {
      id: request.requestedById,
      email: request.requestedByEmail,
      role: request.requestedByRole,
    },
    recordedBy: { kind: event.recordedByKind, id: event.recordedById },
    requestedAt: formatTimestamp(request.requestedAtMs),
  };
  const states = `"before":${event.before ?? 'null'},"after":${event.after ?? 'null'}`;
  const last = current === undefined ? '' : `,"current":${current ?? 'null'}`;
  return `${JSON.stringify(known).slice(0, -1)},${states}${last}}`;
}

/** Why this state cannot be restored, or null. `state` is canonical JSON text. */
export function whyNotRestorable(state: string | null): string | null {
  if (state === null) return 'the event has no such state';
  // In canonical JSON no other text contains these quotes: in a string they are escaped.
  if (state.includes(JSON.stringify(maskText))) {
    return 'the state contains masked values, which are not stored and cannot be restored';
  }
  return null;
}

/**
 * The meaning of a call's result. `retry` is for temporary failures: network, 5xx and 429; its
 * `reason` is used if it was the last attempt.
 */
export function judge(
  result: OutboundResult,
): RestoreOutcome | { status: 'retry'; reason: string } {
  if (result.kind === 'failed') {
    const reason = `the host product could not be called: ${result.reason}`;
    return { status: result.mayPass ? 'retry' : 'failed', reason };
  }
  const { status, text, complete } = result;
  if (status >= 500 || status === 429) return { status: 'retry', reason: answered(status) };
  if (status >= 300 && status < 400) {
    return failed(`${answered(status)}, and redirects are not followed`);
  }
  if (status < 200 || status >= 300) return failed(answered(status));
  if (!complete) return failed('the answer of the host product is larger than 64 KiB');
  return outcomeIn(text) ?? failed('the host product answered neither applied nor refused');
}

const failed = (reason: string): RestoreOutcome => ({ status: 'failed', reason });
const answered = (status: number) => `the host product answered ${status}`;

/** `{status: "applied"}` or `{status: "refused", reason}`; ignores other members. */
function outcomeIn(text: string): RestoreOutcome | null {
  const answer = parseObject(text);
  if (answer?.status === 'applied') return { status: 'applied', reason: null };
  if (answer?.status !== 'refused') return null;
  const given = typeof answer.reason === 'string' ? answer.reason.trim() : '';
  return { status: 'refused', reason: given || 'the host product gave no reason' };
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}
