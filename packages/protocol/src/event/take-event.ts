import type { ErrorCode, WarningCode } from '../error-codes.ts';
import { canonicalize, type JsonObject } from '../json/canonical.ts';
import { isObject } from '../json/strict-json.ts';
import type { Catalogue } from './catalogue.ts';
import { takeContext } from './context.ts';
import { isOperators } from './delegation.ts';
import { type CommittedEvent, type EventField, eventFields } from './event-fields.ts';
import { nilUuid, uuidFromEventId, uuidTimeMs } from './event-id.ts';
import { tenantUuid } from './external-id.ts';
import { type FieldProblem, fieldProblemsMax, problemsText } from './field-problem.ts';
import { exceedsBytes, isVisible, operatorRole, resemblesOperator } from './field-rules.ts';
import { plainIp } from './ip-address.ts';
import { eventBytesMax, futureMsMax, inKib, stateBytesMax } from './limits.ts';
import type { Masker } from './masking.ts';
import { Notes, type WarningPaths } from './notes.ts';
import type { Diff } from './state-diff.ts';
import { parseTimestamp } from './timestamp.ts';
import { type Members, usableEvent } from './usable-event.ts';

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
  /** Where the event has texts in place of numbers that a double would change. */
  numbersAsText?: readonly string[];
}

/** Why an event is refused; `errors` names every wrong field. */
export interface EventRefusal {
  code: ErrorCode;
  detail: string;
  errors?: FieldProblem[];
}

export type TakenEvent =
  | {
      event: CommittedEvent;
      warnings: WarningCode[];
      warningPaths: WarningPaths;
      refusal?: never;
    }
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
  const { masker, nowMs, catalogue } = context;
  const notes = new Notes();
  const bound = context.boundTenantId?.toLowerCase();
  const usable = usableEvent(raw, { masker, namespace: namespaceOf(raw, bound) }, notes);
  const wrong = new Set(notes.problems.map(({ path }) => path));
  if (isObject(raw) && !wrong.has('')) notes.problems.push(...ruleProblems(raw, wrong, context));
  if (usable === null || notes.problems.length > 0) return refuse(notes.problems);
  const event = usable as unknown as SentEvent;
  const tenantId = (event.tenantId === undefined ? bound : tenantUuid(event.tenantId)) ?? '';
  if (bound && tenantId !== bound) {
    return { refusal: { code: 'forbidden', detail: 'this credential is bound to another tenant' } };
  }
  const changes = takeChanges(event, context, notes);
  noteOperators(event, notes);
  noteStates(event, catalogue, notes);
  const uuid = uuidOf(event, context);
  const { numbersAsText = [] } = context;
  if (numbersAsText.length > 0) notes.warn('number_as_text', ...numbersAsText);
  if (nowMs - uuidTimeMs(uuid) > (context.backdatedMs ?? Infinity)) {
    notes.warn('backdated', event.timestamp === undefined ? '/id' : '/timestamp');
  }
  const asSent = notes.asSent(masker);
  const crossTenant = isOperators(event);
  const taken: CommittedEvent = {
    uuid,
    tenantId,
    ...copiedColumns(event),
    ...changes,
    ...takeContext({ ...event, asSent }),
    crossTenant,
    category: catalogue.categoryOf(event.action, crossTenant),
    recordedByKind: context.recordedBy.kind,
    recordedById: context.recordedBy.id,
  };
  if (isTooLarge(raw, taken, notes)) return tooLarge;
  const { warnings, warningPaths } = notes;
  return { event: taken, warnings, warningPaths };
}

/** The tenant in which own ids get their UUIDs; the nil UUID if it is not known. */
function namespaceOf(raw: unknown, bound: string | undefined): string {
  const named = isObject(raw) ? raw.tenantId : undefined;
  return (typeof named === 'string' ? tenantUuid(named) : null) ?? bound ?? nilUuid;
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

/** The columns of an event's plain fields; empty and absent values are null. */
export function copiedColumns(event: object): CopiedColumns {
  const columns: Record<string, string | null> = {};
  for (const { key, owner, name, spell } of copiedFields) {
    const within = (owner === null ? event : (event as Members)[owner]) as Members;
    const value = within[name];
    columns[key] = typeof value === 'string' && value !== '' ? spell(value) : null;
  }
  return columns as unknown as CopiedColumns;
}

/** An operator whose agent acts has an address beside it, in `onBehalfOf`. */
function noteOperators({ actor, onBehalfOf, reason }: SentEvent, notes: Notes): void {
  const parties = [actor, ...(onBehalfOf ?? [])];
  for (const [at, { role }] of parties.entries()) {
    if (!resemblesOperator(role ?? '')) continue;
    const path = at === 0 ? '/actor/role' : `/onBehalfOf/${at - 1}/role`;
    notes.warn('role_resembles_operator', path);
  }
  const operators = parties.filter(({ role }) => role === operatorRole);
  if (operators.length === 0) return;
  if (!isVisible(reason ?? '')) notes.warn('reason_missing', '/reason');
  if (!operators.some(({ email }) => email)) notes.warn('operator_email_missing', '/actor/email');
}

function noteStates(
  { action, resource, before, after }: SentEvent,
  catalogue: Catalogue,
  notes: Notes,
) {
  if (!catalogue.stateWarning(resource.type, action, before != null, after != null)) return;
  const missing = [...(before == null ? ['/before'] : []), ...(after == null ? ['/after'] : [])];
  notes.warn('state_missing', ...missing);
}

type Changes = Pick<CommittedEvent, 'diff' | 'before' | 'after'>;

/** Masks and canonicalises diff and states; computes the diff if the event has only states. */
function takeChanges(event: SentEvent, { masker }: TakeContext, notes: Notes): Changes {
  const { before: was = null, after: is = null } = event;
  const computed = event.diff === undefined ? masker.diffStates(was, is, event.resource) : null;
  const diff = masker.maskDiff(computed?.diff ?? event.diff ?? {}, event.resource);
  if (diff.masked) notes.warn('secret_masked', '/diff');
  if (computed?.truncated) notes.warn('diff_truncated', '/diff');
  return {
    diff: canonicalize(diff.diff),
    before: takeState(event, '/before', masker, notes),
    after: takeState(event, '/after', masker, notes),
  };
}

function takeState(
  { before = null, after = null, resource }: SentEvent,
  path: '/before' | '/after',
  masker: Masker,
  notes: Notes,
): string | null {
  const state = path === '/before' ? before : after;
  if (state === null) return null;
  const { value, masked } = masker.maskState(state, resource);
  const text = canonicalize(value);
  if (masked) notes.warn('secret_masked', path);
  if (!exceedsBytes(text, stateBytesMax)) return text;
  notes.dropped(path, text);
  return null;
}

// Other fields have limits of their own, and UTF-8 takes at most three bytes per UTF-16 unit, so
// only large events must be measured.
const measuredFrom = eventBytesMax / 3 - 16 * 1024;

/** Measures only what was sent: a computed diff is never a reason to refuse. */
function isTooLarge(sent: unknown, taken: CommittedEvent, { warnings }: Notes): boolean {
  const { actorUserAgent, diff, before, after, context, contextIdentity } = taken;
  const texts = [actorUserAgent, diff, before, after, context, contextIdentity];
  const all = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  // A value that is cut or dropped may have been long.
  if (all <= measuredFrom && warnings.length === 0) return false;
  return exceedsBytes(JSON.stringify(sent), eventBytesMax);
}

/** The refusal of an event that is too large as a whole. */
export const tooLarge: { refusal: EventRefusal; event?: never } = {
  refusal: {
    code: 'payload_too_large',
    detail: `the event is larger than ${inKib(eventBytesMax)}`,
  },
};
