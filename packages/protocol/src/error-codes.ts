import { reasonLength } from './event/limits.ts';

/**
 * Every code of the API: the problems of RFC 9457 documents (`code`, with HTTP status, title and
 * next step) and the warnings of recorded events. Codes are stable: new ones may be added, existing
 * ones are never renamed.
 */

export interface ErrorCodeEntry {
  status: number;
  /** The problem document's `title`: short, and the same for every occurrence. */
  title: string;
  /** One sentence: what the caller should do next. */
  help: string;
}

export const errorCodes = {
  malformed_json: {
    status: 400,
    title: 'The body is not valid JSON',
    help: 'Send one complete JSON value in UTF-8, nested at most 200 levels deep.',
  },
  unknown_parameter: {
    status: 400,
    title: 'A query parameter is unknown',
    help:
      'Correct the spelling or remove the parameter. The service does not ignore it, ' +
      'because a missing filter would return more events.',
  },
  invalid_parameter: {
    status: 400,
    title: 'A parameter has an invalid value',
    help: 'Correct every parameter and header named in `errors` and send the request again.',
  },
  invalid_cursor: {
    status: 400,
    title: 'The cursor does not belong to this request',
    help:
      'Send the cursor unchanged, with the same tenant, filters and order, or start again ' +
      'without a cursor.',
  },
  page_too_deep: {
    status: 400,
    title: 'The page number is too high',
    help:
      'Use the parameter `cursor` with the `nextCursor` of the previous answer: it has no ' +
      'limit.',
  },
  unauthenticated: {
    status: 401,
    title: 'No valid credential was sent',
    help:
      'Send `Authorization: Bearer` with a complete API key or token that is neither revoked ' +
      'nor expired.',
  },
  forbidden: {
    status: 403,
    title: 'The credential does not allow this',
    help: 'Use a credential of this tenant that has the scope or role named in `detail`.',
  },
  reason_required: {
    status: 403,
    title: 'Operator access needs a declared reason',
    help:
      `Send the header \`X-Access-Reason\`: percent-encoded UTF-8, ${reasonLength}, no ` +
      'control characters. To open the panel, send `reason` in the body.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    help: 'Check the address and the id, and that they belong to the tenant of the credential.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The method is not allowed here',
    help:
      'Use one of the methods in the `Allow` header; recorded events cannot be changed or ' +
      'deleted.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive',
    help: 'Send the request again: all of it must arrive within 45 seconds.',
  },
  id_conflict: {
    status: 409,
    title: 'The id belongs to an event with different content',
    help: 'Use another id for the new event, or send exactly the recorded content again.',
  },
  conflict: {
    status: 409,
    title: 'The current state does not allow this',
    help: 'Read the current state, resolve the conflict that `detail` names, and try again.',
  },
  gone: {
    status: 410,
    title: 'It was removed',
    help: 'Create it again. It was kept for a limited time and cannot be recovered.',
  },
  payload_too_large: {
    status: 413,
    title: 'The body is too large',
    help: 'Send fewer events in one batch, or smaller states in one event.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body has an unsupported media type or encoding',
    help: 'Send `Content-Type: application/json` in UTF-8 without `Content-Encoding`.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'The range lies outside the file',
    help: 'Request a range within the size that `Content-Range` names.',
  },
  validation_failed: {
    status: 422,
    title: 'The body is invalid',
    help: 'Correct every field named in `errors`; the paths are JSON Pointers into the body.',
  },
  not_recordable: {
    status: 422,
    title: 'This is not an audit event',
    help: 'Do not send it. `detail` says where such data belongs or what to record instead.',
  },
  id_timestamp_mismatch: {
    status: 422,
    title: 'The id and the timestamp hold different times',
    help: 'Make the id from the timestamp, to the millisecond, or send only one of them.',
  },
  timestamp_in_future: {
    status: 422,
    title: 'The timestamp is in the future',
    help:
      'Check the clock and the time zone of the producer. The service accepts at most five ' +
      'minutes ahead.',
  },
  outside_retention: {
    status: 422,
    title: "The timestamp is older than the tenant's retention",
    help: 'Skip this event, or give the tenant a plan with a longer retention.',
  },
  unknown_tenant: {
    status: 422,
    title: 'The tenant is unknown',
    help: 'Create the tenant with `PUT /api/tenants/{id}` before recording for it.',
  },
  cross_tenant_mismatch: {
    status: 422,
    title: 'Only operators act across tenants',
    help:
      'Leave `crossTenant` out, or send it only with the role `superadmin`, of the actor or of a ' +
      'person in `onBehalfOf`.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    help: 'Wait for the seconds in `Retry-After`, then send requests more slowly.',
  },
  internal_error: {
    status: 500,
    title: 'The service failed',
    help: 'Try again; if it fails again, report the `requestId`.',
  },
  unavailable: {
    status: 503,
    title: 'The service is temporarily unavailable',
    help:
      'Send the same request again after the seconds in `Retry-After`. Recording with an ' +
      'id is safe to retry.',
  },
  too_slow: {
    status: 503,
    title: 'The answer takes longer than ten seconds',
    help: 'Narrow the time range, or add a filter. The same request would take as long again.',
  },
  log_damaged: {
    status: 503,
    title: 'The log is damaged',
    help:
      'Tell the operator of the service; a retry does not help. The stored log contradicts ' +
      'its published checkpoints, or a part of it is missing.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;

export type ErrorCode = keyof typeof errorCodes;

/** The text of each warning. An event with warnings is recorded. */
export const warningCodes = {
  truncated: 'A value was longer than its limit and was cut; `asSent` has its beginning.',
  value_dropped:
    'A value could not be used: it is not stored, or with other characters; `asSent` has it.',
  number_as_text:
    'A number that a 64-bit float would change was kept as its text: more digits than a float has, an integer beyond 2^53, or too small or large.',
  reason_missing: 'An operator event came without a declared reason.',
  role_resembles_operator:
    'A role looks like superadmin and is another one: it is recorded as it is, and is not the operator team.',
  operator_email_missing: "An operator event came without the operator's e-mail address.",
  state_missing:
    'A change of a sensitive resource came without the complete states before and after ' + 'it.',
  diff_truncated:
    'The diff is not whole: over 500 fields (the first were kept), a text over 32 KiB, or a path over 1,024 characters.',
  backdated:
    'The event happened long before the service took it: 24 hours, unless BACKDATED_HOURS says otherwise.',
  secret_masked: 'Secrets were replaced before storing: by the name of a value, or by its text.',
} as const;

export type WarningCode = keyof typeof warningCodes;
