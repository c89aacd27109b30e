import type { ErrorCode, WarningCode } from '../error-codes.ts';
import { canonicalize, type JsonObject, type JsonValue } from '../json/canonical.ts';
import { isObject } from '../json/strict-json.ts';
import type { Catalogue } from './catalogue.ts';
import { type Members, shapeProblems } from './check-event.ts';
import { takeContext } from './context.ts';
import { isOperators } from './delegation.ts';
import { type CommittedEvent, type EventField, eventFields } from './event-fields.ts';
import { nilUuid, uuidFromEventId, uuidTimeMs } from './event-id.ts';
import { externalUuid, tenantUuid } from './external-id.ts';
import { type FieldProblem, fieldProblemsMax, problemsText } from './field-problem.ts';
import { exceedsBytes, isVisible, operatorRole, resemblesOperator } from './field-rules.ts';
import { plainIp } from './ip-address.ts';
import { eventBytesMax, futureMsMax, inKib, stateBytesMax, userAgentLengthMax } from './limits.ts';
import type { Masker } from './masking.ts';
import type { Diff } from './state-diff.ts';
import { parseTimestamp } from './timestamp.ts';

/** The inputs of `takeEvent` besides the event. Clock and randomness come from here. */
export interface TakeContext {
  nowMs: number;
  /** The id of an event without one, for this time. */
  newUuid: (timeMs: number) => string;
  catalogue: Catalogue;
  masker: Masker;
  recordedBy: { kind: 'api_key' | 'service'; id: string };
  /**
   * The credential's tenant; null for a platform-bound credential. With undefined (not known), an
   * event may name any tenant or none.
   */
  boundTenantId: string | null | undefined;
  /** How long before `nowMs` an event may have happened without a warning; absent: any time. */
  backdatedMs?: number;
}

/** Why an event is refused; `errors` names every wrong field. */
export interface EventRefusal {
  code: ErrorCode;
  detail: string;
  errors?: FieldProblem[];
}

export type TakenEvent =
  | { event: CommittedEvent; warnings: WarningCode[]; refusal?: never }
  | { refusal: EventRefusal; event?: never };

/** The members that this file reads, after their shape was checked. */
interface SentEvent {
  id?: string;
  timestamp?: string;
  tenantId?: string;
  actor: { externalId?: string; role: string; email?: string | null; userAgent?: string | null };
  onBehalfOf?: readonly { role?: string; email?: string | null }[] | null;
  action: string;
  resource: { type: string; externalId?: string; name?: string | null };
  diff?: Diff;
  reason?: string | null;
  before?: JsonObject | null;
  after?: JsonObject | null;
}

/**
 * Validates, normalises and masks one sent event; used by the service, and by the client before it
 * sends. It reports all problems at once. An accepted event is canonical and stored unchanged. The
 * database checks the rest: unknown tenants, retention, used ids.
 */
export function takeEvent(raw: unknown, context: TakeContext): TakenEvent {
  const problems = shapeProblems(raw);
  const wrong = new Set(problems.map(({ path }) => path));
  const warnings: WarningCode[] = [];
  const event = raw as SentEvent;
  const changes = wrong.size > 0 ? null : takeChanges(event, context, warnings, problems);
  if (isObject(raw) && !wrong.has('')) problems.push(...ruleProblems(raw, wrong, context));
  if (changes === null || problems.length > 0) return refuse(problems);
  const bound = context.boundTenantId?.toLowerCase();
  const tenantId = (event.tenantId === undefined ? bound : tenantUuid(event.tenantId)) ?? '';
  if (bound && tenantId !== bound) {
    return { refusal: { code: 'forbidden', detail: 'this credential is bound to another tenant' } };
  }
  warnings.push(...operatorWarnings(event), ...stateWarnings(event, context.catalogue));
  const uuid = uuidOf(event, context);
  if (context.nowMs - uuidTimeMs(uuid) > (context.backdatedMs ?? Infinity)) {
    warnings.push('backdated');
  }
  const crossTenant = isOperators(event);
  const namespace = tenantId || nilUuid;
  const copied = copiedColumns(event, warnings);
  const { type, externalId } = event.resource;
  const taken: CommittedEvent = {
    uuid,
    tenantId,
    ...copied,
    actorId: copied.actorId || externalUuid(namespace, 'actor', event.actor.externalId ?? ''),
    resourceId: copied.resourceId || externalUuid(namespace, type, externalId ?? ''),
    ...changes,
    ...takeContext(event, namespace, context.masker, warnings),
    crossTenant,
    category: context.catalogue.categoryOf(event.action, crossTenant),
    recordedByKind: context.recordedBy.kind,
    recordedById: context.recordedBy.id,
  };
  return isTooLarge(event, taken) ? tooLarge : { event: taken, warnings };
}

const ruleCodes = new Set<string>([
  'id_timestamp_mismatch',
  'timestamp_in_future',
  'cross_tenant_mismatch',
  'not_recordable',
]);

// A single problem with a code of its own gives the refusal that code; all others give
// `validation_failed`.
function refuse(problems: FieldProblem[]): TakenEvent {
  const [first] = problems;
  const own = problems.length === 1 && first && ruleCodes.has(first.code);
  return {
    refusal: {
      code: own ? (first.code as ErrorCode) : 'validation_failed',
      // Says itself what it is about; other messages begin behind the name of their field.
      detail: own && first.code === 'not_recordable' ? first.message : problemsText(problems),
      errors: problems.slice(0, fieldProblemsMax),
    },
  };
}

/** The rules that combine fields. Skips fields that `wrong` names already. */
function ruleProblems(
  event: Members,
  wrong: ReadonlySet<string>,
  { nowMs, catalogue, boundTenantId }: TakeContext,
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (path: string, code: string, message: string) => {
    if (!wrong.has(path)) problems.push({ path, code, message });
  };
  const word = (owner: unknown, name: string, path: string) => {
    const value = isObject(owner) ? owner[name] : undefined;
    return typeof value === 'string' && !wrong.has(path) ? value : undefined;
  };
  checkTime(word(event, 'id', '/id'), word(event, 'timestamp', '/timestamp'), nowMs, add);
  const role = word(event.actor, 'role', '/actor/role');
  if (event.crossTenant === true && role !== undefined && !isOperators(event)) {
    const rule = 'is true, but neither the actor nor a person of onBehalfOf is a superadmin';
    add('/crossTenant', 'cross_tenant_mismatch', rule);
  }
  if (boundTenantId === null && event.tenantId === undefined && wrong.size === 0) {
    add('/tenantId', 'required', 'is required: this credential belongs to no tenant');
  }
  const action = word(event, 'action', '/action') ?? '';
  const type = word(event.resource, 'type', '/resource/type') ?? '';
  const refusal = catalogue.notRecordable(action, type);
  if (refusal !== null) add('/action', 'not_recordable', refusal);
  return problems;
}

type Add = (path: string, code: string, message: string) => void;

function checkTime(id: string | undefined, timestamp: string | undefined, nowMs: number, add: Add) {
  const uuid = id === undefined ? null : uuidFromEventId(id);
  const idTime = uuid === null ? null : uuidTimeMs(uuid);
  const stamp = timestamp === undefined ? null : parseTimestamp(timestamp);
  if (idTime !== null && stamp !== null && idTime !== stamp) {
    add('/timestamp', 'id_timestamp_mismatch', 'differs from the time within the id');
  }
  if ((idTime ?? stamp ?? nowMs) > nowMs + futureMsMax) {
    const path = stamp === null ? '/id' : '/timestamp';
    const minutes = futureMsMax / 60_000;
    add(
      path,
      'timestamp_in_future',
      `is more than ${minutes} minutes ahead of the service's clock`,
    );
  }
}

function uuidOf({ id, timestamp }: SentEvent, { nowMs, newUuid }: TakeContext): string {
  const sent = id === undefined ? null : uuidFromEventId(id);
  const stamp = timestamp === undefined ? null : parseTimestamp(timestamp);
  return sent ?? newUuid(stamp ?? nowMs);
}

/** Columns that hold sent values, normalised. */
type CopiedColumns = Omit<
  CommittedEvent,
  | ('uuid' | 'tenantId' | 'diff' | 'before' | 'after')
  | ('crossTenant' | 'category' | 'recordedByKind' | 'recordedById' | 'context' | 'contextIdentity')
>;

const spellings: { [Kind in EventField['kind']]?: (text: string) => string | null } = {
  uuid: (text) => text.toLowerCase(),
  ip: plainIp,
  word: (text) => text,
  role: (text) => text,
  email: (text) => text,
  text: (text) => text,
};

const copiedFields = eventFields.flatMap(({ key, owner, name, kind, sent }) => {
  const spell = spellings[kind];
  return sent && spell && key && key !== 'tenantId' ? [{ key, owner, name, spell }] : [];
});

/**
 * The columns of an event's plain fields; empty and absent values are null. A user agent that is
 * too long is cut, not refused, so that it cannot suppress the record of a failed login.
 */
export function copiedColumns(event: object, warnings: WarningCode[]): CopiedColumns {
  const columns: Record<string, string | null> = {};
  for (const { key, owner, name, spell } of copiedFields) {
    const within = (owner === null ? event : (event as Members)[owner]) as Members;
    const value = within[name];
    columns[key] = typeof value === 'string' && value !== '' ? spell(value) : null;
  }
  const copied = columns as unknown as CopiedColumns;
  copied.actorUserAgent = cutUserAgent(copied.actorUserAgent, warnings);
  return copied;
}

function cutUserAgent(text: string | null, warnings: WarningCode[]): string | null {
  if (text === null || text.length <= userAgentLengthMax) return text;
  const characters = [...text];
  if (characters.length <= userAgentLengthMax) return text;
  warnings.push('truncated');
  return characters.slice(0, userAgentLengthMax).join('');
}

/** An operator whose agent acts has an address beside it, in `onBehalfOf`. */
function operatorWarnings({ actor, onBehalfOf, reason }: SentEvent): WarningCode[] {
  const parties = [actor, ...(onBehalfOf ?? [])];
  const isSimilar = parties.some(({ role }) => resemblesOperator(role ?? ''));
  const warnings: WarningCode[] = isSimilar ? ['role_resembles_operator'] : [];
  const operators = parties.filter(({ role }) => role === operatorRole);
  if (operators.length === 0) return warnings;
  if (!isVisible(reason ?? '')) warnings.push('reason_missing');
  if (!operators.some(({ email }) => email)) warnings.push('operator_email_missing');
  return warnings;
}

function stateWarnings({ action, resource, before, after }: SentEvent, catalogue: Catalogue) {
  const missing = catalogue.stateWarning(resource.type, action, before != null, after != null);
  return missing ? (['state_missing'] as const) : [];
}

type Changes = Pick<CommittedEvent, 'diff' | 'before' | 'after'>;

/** Masks and canonicalises diff and states; computes the diff if the event has only states. */
function takeChanges(
  event: SentEvent,
  { masker }: TakeContext,
  warnings: WarningCode[],
  problems: FieldProblem[],
): Changes | null {
  const { before: was = null, after: is = null } = event;
  // The sizes first: to mask and compare states without bounds may take seconds.
  const sent = {
    before: stateText(was, '/before', problems),
    after: stateText(is, '/after', problems),
  };
  if (problems.length > 0) return null;
  const before = masker.maskState(was, event.resource);
  const after = masker.maskState(is, event.resource);
  const computed = event.diff === undefined ? masker.diffStates(was, is, event.resource) : null;
  const diff = masker.maskDiff(computed?.diff ?? event.diff ?? {}, event.resource);
  if (before.masked || after.masked || diff.masked) warnings.push('secret_masked');
  if (computed?.truncated) warnings.push('diff_truncated');
  return {
    diff: canonicalize(diff.diff),
    before: before.masked ? stateText(before.value, '/before', problems) : sent.before,
    after: after.masked ? stateText(after.value, '/after', problems) : sent.after,
  };
}

function stateText(value: JsonValue, path: string, problems: FieldProblem[]): string | null {
  if (value === null) return null;
  const text = canonicalize(value);
  if (exceedsBytes(text, stateBytesMax)) {
    const message = `is larger than ${inKib(stateBytesMax)}`;
    problems.push({ path, code: 'too_long', message });
  }
  return text;
}

// Other fields have limits of their own, and UTF-8 takes at most three bytes per UTF-16 unit, so
// only large events must be measured.
const measuredFrom = eventBytesMax / 3 - 16 * 1024;

/** Measures only what was sent: a computed diff is never a reason to refuse. */
function isTooLarge(event: SentEvent, taken: CommittedEvent): boolean {
  const { diff, before, after, context, contextIdentity } = taken;
  const texts = [event.actor.userAgent, diff, before, after, context, contextIdentity];
  const all = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  return all > measuredFrom && exceedsBytes(JSON.stringify(event), eventBytesMax);
}

/** The refusal of an event that is too large as a whole. */
export const tooLarge: { refusal: EventRefusal; event?: never } = {
  refusal: {
    code: 'payload_too_large',
    detail: `the event is larger than ${inKib(eventBytesMax)}`,
  },
};
