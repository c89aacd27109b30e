import {
  type ContextTexts,
  callFailures,
  canonicalize,
  contextOf,
  eventIdFromUuid,
  formatTimestamp,
  hostNotCalled,
  type JsonObject,
  maskText,
  type Outcome,
  typeId,
} from '@indelible/protocol';
import { whoRequested } from '../access/tenant-access.ts';
import { isRedirect, isSuccess, jsonObject } from '../outbound/answers.ts';
import type { OutboundResult } from '../outbound/outbound.ts';
import { actOf, type OwnEvent, type Whence } from '../own-event.ts';
import type { RestoreOutcome, RestoreRequest } from './store.ts';

/* The call to a host product, and the meaning of its answer. */

export const restoreIdPrefix = 'rst_';

/** The parts of the event in the call; states are canonical JSON texts. */
interface RestoredEvent extends ContextTexts {
  before: string | null;
  after: string | null;
  recordedByKind: string;
  recordedById: string;
}

/** What is to be restored: canonical JSON texts, and the last recorded state (null: deleted). */
interface Wanted {
  state: string | null;
  /** The chosen members of the state with their values; null: the whole state. */
  fields: string | null;
  current: string | null | undefined;
}

/**
 * The call's JSON text. States are inserted as the texts that the log commits to. With `fields` the
 * call holds no other state, so that a receiver that does not know them cannot apply too much.
 */
export function restoreBody(
  request: RestoreRequest,
  event: RestoredEvent,
  { fields, current }: Wanted,
): string {
  const { resourceType, resourceId, resourceName } = request;
  const known = {
    type: 'audit.restore.requested',
    id: typeId(restoreIdPrefix, request.id),
    tenantId: request.tenantId,
    eventId: eventIdFromUuid(request.eventUuid),
    resource: {
      type: resourceType,
      id: resourceId,
      ...ownId(contextOf(event).resource?.externalId),
      name: resourceName,
    },
    to: request.target,
    requestedBy: {
      id: request.requestedById,
      ...ownId(request.requestedByExternalId),
      email: request.requestedByEmail,
      role: request.requestedByRole,
      ...(request.agents.length > 0 && { agents: request.agents }),
    },
    recordedBy: { kind: event.recordedByKind, id: event.recordedById },
    requestedAt: formatTimestamp(request.requestedAtMs),
  };
  const states =
    fields === null
      ? `"before":${event.before ?? 'null'},"after":${event.after ?? 'null'}`
      : `"fields":${fields}`;
  const last = current === undefined ? '' : `,"current":${current ?? 'null'}`;
  return `${JSON.stringify(known).slice(0, -1)},${states}${last}}`;
}

const ownId = (externalId: string | null | undefined) => externalId != null && { externalId };

/** Why this cannot be restored, or null. `names` are the chosen members of the state. */
export function whyNotRestorable(
  { state, fields, current }: Wanted,
  names: readonly string[] | null,
): string | null {
  if (state === null) return 'the event has no such state';
  // In canonical JSON no other text contains these quotes: in a string they are escaped.
  if ((fields ?? state).includes(JSON.stringify(maskText))) {
    return 'the state contains masked values, which are not stored and cannot be restored';
  }
  if (names === null) return null;
  if (current === null) return 'the resource was deleted: restore the whole state';
  const known = [state, current ?? '{}'].flatMap((text) => Object.keys(JSON.parse(text)));
  const unknown = names.find((name) => !known.includes(name));
  return unknown === undefined
    ? null
    : `the state has no field ${JSON.stringify(unknown)}: choose among its own members`;
}

/** These members of a state, as canonical JSON text; null for one that it does not have. */
export function fieldsOf(state: string, names: readonly string[]): string {
  const members = new Map<string, JsonObject[string]>(Object.entries(JSON.parse(state)));
  return canonicalize(Object.fromEntries(names.map((name) => [name, members.get(name) ?? null])));
}

/**
 * The meaning of a call's result. `retry` is for temporary failures: network, 5xx and 429; its
 * `reason` is used if it was the last attempt.
 */
export function judge(
  result: OutboundResult,
): RestoreOutcome | { status: 'retry'; reason: string } {
  if (result.kind === 'failed') {
    const reason = hostNotCalled + result.reason;
    return { status: result.mayPass ? 'retry' : 'failed', reason };
  }
  const { status, text, complete } = result;
  if (status >= 500 || status === 429) return { status: 'retry', reason: answered(status) };
  if (isRedirect(status)) {
    return failed(`${answered(status)}, and redirects are not followed`);
  }
  if (!isSuccess(status)) return failed(answered(status));
  if (!complete) return failed(callFailures.answerLarge);
  return outcomeIn(text) ?? failed(callFailures.answerUnclear);
}

const failed = (reason: string): RestoreOutcome => ({ status: 'failed', reason });
const answered = (status: number) => `the host product answered ${status}`;

/** `{status: "applied"}` or `{status: "refused", reason}`; ignores other members. */
function outcomeIn(text: string): RestoreOutcome | null {
  const { status, reason } = jsonObject(text);
  if (status === 'applied') return { status, reason: null };
  if (status !== 'refused') return null;
  const given = typeof reason === 'string' ? reason.trim() : '';
  return { status, reason: given || callFailures.refusedSilently };
}

const outcomes: { [Status in RestoreOutcome['status']]: Outcome } = {
  applied: 'success',
  refused: 'denied',
  failed: 'failure',
};

/**
 * The log's records of a restore: one event for the request and one for its outcome, both of the
 * resource, in the name of the requester. The states remain in the restored event.
 */
export function restoreEvent(
  request: RestoreRequest,
  outcome: RestoreOutcome | { status: 'requested'; reason: null },
  whence?: Whence,
): OwnEvent {
  const { resourceType: type, resourceId, resourceName } = request;
  const resource = { type, id: resourceId, name: resourceName };
  return actOf(whoRequested(request, whence), 'restore', resource, {
    ...(outcome.status !== 'requested' && { outcome: outcomes[outcome.status] }),
    after: {
      restoreId: typeId(restoreIdPrefix, request.id),
      eventId: eventIdFromUuid(request.eventUuid),
      to: request.target,
      ...(request.fields && { fields: request.fields }),
      outcome: outcome.status,
      reason: outcome.reason,
    },
  });
}
