import type { ErrorCode, WarningCode } from '../error-codes.ts';
import { canonicalize, type JsonObject, type JsonValue } from '../json/canonical.ts';
import type { Catalogue } from './catalogue.ts';
import { isObject, type Members, shapeProblems } from './check-event.ts';
import { type CommittedEvent, type StoredField, storedFields } from './event-fields.ts';
import { uuidFromEventId, uuidTimeMs } from './event-id.ts';
import { type FieldProblem, fieldProblemsMax } from './field-problem.ts';
import { isVisible } from './field-rules.ts';
import { canonicalIp } from './ip-address.ts';
import { eventBytesMax, futureMsMax, inKib, stateBytesMax, userAgentLengthMax } from './limits.ts';
import type { Masker } from './masking.ts';
import { type Diff, diffStates } from './state-diff.ts';
import { parseTimestamp } from './timestamp.ts';
import { exceedsBytes } from './utf8-size.ts';

/** What taking an event depends on besides the event itself; no clock or randomness of its own. */
export interface TakeContext {
  nowMs: number;
  /** The id of an event that names none, for this moment. */
  newUuid: (timeMs: number) => string;
  catalogue: Catalogue;
  masker: Masker;
  recordedBy: { kind: 'api_key' | 'service'; id: string };
  /**
   * The tenant the credential is bound to; null for a platform-bound one. Undefined: not known, and
   * an event may name any tenant or none.
   */
  boundTenantId: string | null | undefined;
}

/** Why an event is not recorded; `errors` names every field that is wrong. */
export interface EventRefusal {
  code: ErrorCode;
  detail: string;
  errors?: FieldProblem[];
}

export type TakenEvent =
  | { event: CommittedEvent; warnings: WarningCode[]; refusal?: never }
  | { refusal: EventRefusal; event?: never };

/** As much of an event as is looked at by name, once its shape is judged. */
interface SentEvent {
  id?: string;
  timestamp?: string;
  tenantId?: string;
  actor: { role: string; email?: string | null; userAgent?: string | null };
  action: string;
  resource: { type: string };
  diff?: Diff;
  reason?: string | null;
  before?: JsonObject | null;
  after?: JsonObject | null;
}

/**
 * Validates, normalises and masks one event as a producer sent it: the judgement
 * of the service, and of the client before it sends. Every problem is reported
 * at once; what is accepted is canonical and will be stored as it stands.
 * Unknown tenants, retention and ids that are taken are left to the database.
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
  const tenantId = (event.tenantId ?? bound ?? '').toLowerCase();
  if (bound && tenantId !== bound) {
    return { refusal: { code: 'forbidden', detail: 'this credential is bound to another tenant' } };
  }
  warnings.push(...operatorWarnings(event), ...stateWarnings(event, context.catalogue));
  const crossTenant = event.actor.role === 'superadmin';
  const taken: CommittedEvent = {
    uuid: uuidOf(event, context),
    tenantId,
    ...copiedColumns(event, warnings),
    ...changes,
    crossTenant,
    category: context.catalogue.categoryOf(event.action, crossTenant),
    recordedByKind: context.recordedBy.kind,
    recordedById: context.recordedBy.id,
  };
  return isTooLarge(event, changes) ? tooLarge : { event: taken, warnings };
}

const ruleCodes = new Set<string>([
  'id_timestamp_mismatch',
  'timestamp_in_future',
  'cross_tenant_mismatch',
  'not_recordable',
]);

// One problem with a code of its own gives that code;
// several, or a plain one, are a failed validation.
function refuse(problems: FieldProblem[]): TakenEvent {
  const [first] = problems;
  const own = problems.length === 1 && first && ruleCodes.has(first.code);
  return {
    refusal: {
      code: own ? (first.code as ErrorCode) : 'validation_failed',
      detail: own ? first.message : `the event has ${problems.length} problem(s); see errors`,
      errors: problems.slice(0, fieldProblemsMax),
    },
  };
}

/** What fields say together. Those that `wrong` names already are not judged again. */
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
  if (event.crossTenant === true && role !== undefined && role !== 'superadmin') {
    add('/crossTenant', 'cross_tenant_mismatch', 'is true, but the actor is not a superadmin');
  }
  if (boundTenantId === null && event.tenantId === undefined && wrong.size === 0) {
    add('/tenantId', 'required', 'is required with a platform-bound credential');
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
    add(path, 'timestamp_in_future', `is more than ${minutes} minutes ahead`);
  }
}

function uuidOf({ id, timestamp }: SentEvent, { nowMs, newUuid }: TakeContext): string {
  const sent = id === undefined ? null : uuidFromEventId(id);
  const stamp = timestamp === undefined ? null : parseTimestamp(timestamp);
  return sent ?? newUuid(stamp ?? nowMs);
}

/** Columns that hold what was sent, but for its spelling. */
type CopiedColumns = Omit<
  CommittedEvent,
  | ('uuid' | 'tenantId' | 'diff' | 'before' | 'after')
  | ('crossTenant' | 'category' | 'recordedByKind' | 'recordedById')
>;

const spellings: { [Kind in StoredField['kind']]?: (text: string) => string | null } = {
  uuid: (text) => text.toLowerCase(),
  ip: canonicalIp,
  word: (text) => text,
  role: (text) => text,
  email: (text) => text,
  text: (text) => text,
};

const copiedFields = storedFields.flatMap(({ key, owner, name, kind, sent }) => {
  const spell = spellings[kind];
  return sent && spell && key !== 'tenantId' ? [{ key, owner, name, spell }] : [];
});

/**
 * The columns of an event's plain fields; empty and absent ones are null. A user agent that is too
 * long is cut, not refused: it must not be able to suppress a failed login.
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

function operatorWarnings({ actor, reason }: SentEvent): WarningCode[] {
  if (actor.role !== 'superadmin') return [];
  const warnings: WarningCode[] = [];
  if (!isVisible(reason ?? '')) warnings.push('reason_missing');
  if (!actor.email) warnings.push('operator_email_missing');
  return warnings;
}

function stateWarnings({ action, resource, before, after }: SentEvent, catalogue: Catalogue) {
  const missing = catalogue.stateWarning(resource.type, action, before != null, after != null);
  return missing ? (['state_missing'] as const) : [];
}

type Changes = Pick<CommittedEvent, 'diff' | 'before' | 'after'>;

/** Masks and canonicalises the diff and the states, and computes the diff when only states came. */
function takeChanges(
  event: SentEvent,
  { masker }: TakeContext,
  warnings: WarningCode[],
  problems: FieldProblem[],
): Changes {
  const { before: was = null, after: is = null } = event;
  const before = masker.maskState(was);
  const after = masker.maskState(is);
  // From the states as sent: two masked secrets look equal, and their change would go unseen.
  const computed = event.diff === undefined ? diffStates(was, is) : null;
  const diff = masker.maskDiff(computed?.diff ?? event.diff ?? {});
  if (before.masked || after.masked || diff.masked) warnings.push('secret_masked');
  if (computed?.truncated) warnings.push('diff_truncated');
  return {
    diff: canonicalize(diff.diff),
    before: stateText(before.value, '/before', problems),
    after: stateText(after.value, '/after', problems),
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

// Everything else of an event has limits of its own, and UTF-8 takes three bytes a UTF-16 unit at
// most: only large events are measured.
const measuredFrom = eventBytesMax / 3 - 16 * 1024;

/** Judges what was sent: a computed diff is the service's own, and never a reason to refuse. */
function isTooLarge(event: SentEvent, { diff, before, after }: Changes): boolean {
  const { length } = event.actor.userAgent ?? '';
  const all = length + diff.length + (before?.length ?? 0) + (after?.length ?? 0);
  return all > measuredFrom && exceedsBytes(JSON.stringify(event), eventBytesMax);
}

const tooLarge: TakenEvent = {
  refusal: {
    code: 'payload_too_large',
    detail: `the event is larger than ${inKib(eventBytesMax)}`,
  },
};
