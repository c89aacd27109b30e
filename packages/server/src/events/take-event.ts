import {
  type Catalogue,
  canonicalize,
  checkJson,
  type Diff,
  diffStates,
  type ErrorCode,
  type FieldProblem,
  fieldProblemsMax,
  isVisible,
  type JsonValue,
  type Masker,
  parseTimestamp,
  pointerOf,
  type Sha256,
  uuidFromEventId,
  uuidTimeMs,
  type WarningCode,
} from '@indelible/protocol';
import ipaddr from 'ipaddr.js';
import { checkEventShape, membersMax } from './event-shape.ts';
import { type PreparedEvent, prepare, type Random } from './prepared-event.ts';
import { limits } from './schemas.ts';
import type { UuidSource } from './uuid-source.ts';

/** What taking an event depends on besides the event itself; no clock or randomness of its own. */
export interface TakeContext {
  nowMs: number;
  random: Random;
  newUuid: UuidSource;
  sha: Sha256;
  catalogue: Catalogue;
  masker: Masker;
  recordedBy: { kind: 'api_key' | 'service'; id: string };
  /** The tenant the credential is bound to; null for a platform-bound one. */
  boundTenantId: string | null;
}

export interface Refusal {
  code: ErrorCode;
  detail: string;
  errors?: FieldProblem[];
}

export type Taken =
  | { event: PreparedEvent; warnings: WarningCode[]; refusal?: never }
  | { refusal: Refusal; event?: never };

/** The input's shape once `checkEventShape` has passed. */
export interface RawEvent {
  id?: string;
  timestamp?: string;
  tenantId?: string;
  actor: {
    id: string;
    email?: string | null;
    role: string;
    ip?: string | null;
    userAgent?: string | null;
  };
  action: string;
  resource: { type: string; id: string; name?: string | null };
  diff?: Diff;
  crossTenant?: boolean;
  reason?: string | null;
  before?: JsonValue;
  after?: JsonValue;
}

/**
 * Validates, normalises and masks one event as a producer sent it. Every problem is reported at
 * once; what is accepted is canonical and will be stored as it stands. Tenant and retention are
 * checked later, under the lock of the log's head.
 */
export function takeEvent(raw: unknown, context: TakeContext): Taken {
  // A crowd of members is not looked at one by one.
  if (isObject(raw) && Object.keys(raw).length > membersMax)
    return refuse(checkEventShape(raw, []));
  const problems = jsonProblems(raw);
  const input = emptyToNull(raw);
  problems.push(...checkEventShape(input, problems));
  if (problems.length > 0)
    return refuse([...problems, ...otherRuleProblems(input, problems, context)]);
  const event = input as RawEvent;
  const warnings: WarningCode[] = [];
  const changes = takeChanges(event, context, warnings, problems);
  problems.push(...ruleProblems(event, context));
  if (problems.length > 0) return refuse(problems);
  const { tenantId = context.boundTenantId } = event;
  if (context.boundTenantId && tenantId?.toLowerCase() !== context.boundTenantId) {
    return { refusal: { code: 'forbidden', detail: 'this credential is bound to another tenant' } };
  }
  warnings.push(...operatorWarnings(event), ...stateWarnings(event, context.catalogue));
  const columns = {
    ...identify(event, context),
    ...describe(event, context, warnings),
    ...changes,
  };
  const prepared = prepare(columns, context.sha, context.random);
  return isTooLarge(raw, prepared) ? tooLarge : { event: prepared, warnings };
}

/** Judges what was sent: a computed diff is the service's own, and never a reason to refuse. */
function isTooLarge(raw: unknown, { bytes }: PreparedEvent): boolean {
  // Two bytes a character were counted, and UTF-8 takes at most three: only large events are
  // measured.
  if (bytes * 1.5 <= limits.eventBytesMax) return false;
  return Buffer.byteLength(JSON.stringify(raw)) > limits.eventBytesMax;
}

const tooLarge: Taken = {
  refusal: { code: 'payload_too_large', detail: 'the event is larger than 600 KiB' },
};

const ruleCodes = new Set<string>([
  'id_timestamp_mismatch',
  'timestamp_in_future',
  'cross_tenant_mismatch',
  'not_recordable',
]);

// One problem with a code of its own gives that code; several, or a plain one, are a failed
// validation.
function refuse(problems: FieldProblem[]): Taken {
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

/**
 * What the rules say of an event whose shape is wrong elsewhere: all problems belong in one answer.
 */
function otherRuleProblems(
  input: unknown,
  known: readonly FieldProblem[],
  context: TakeContext,
): FieldProblem[] {
  if (!isObject(input)) return [];
  const named = new Set(known.map(({ path }) => path));
  const text = (value: unknown, path: string) =>
    typeof value === 'string' && !named.has(path) ? value : undefined;
  const { id, timestamp, actor, action, resource, crossTenant } = input;
  const role = isObject(actor) ? text(actor.role, '/actor/role') : undefined;
  const type = isObject(resource) ? text(resource.type, '/resource/type') : undefined;
  const judged = {
    tenantId: '',
    actor: { id: '', role: role ?? 'superadmin' },
    action: text(action, '/action') ?? '',
    resource: { type: type ?? '', id: '' },
    ...(crossTenant === true && role !== undefined ? { crossTenant } : {}),
  };
  const [ownId, ownTime] = [text(id, '/id'), text(timestamp, '/timestamp')];
  const withTime = {
    ...judged,
    ...(ownId ? { id: ownId } : {}),
    ...(ownTime ? { timestamp: ownTime } : {}),
  };
  return ruleProblems(withTime, context).filter(({ path }) => !named.has(path));
}

function jsonProblems(raw: unknown): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (!isObject(raw)) return problems;
  for (const [field, value] of Object.entries(raw)) {
    if (problems.length >= fieldProblemsMax) break;
    // Depth counts within each field, so that a state may be 32 deep wherever it stands.
    for (const problem of [...checkJson(field, ''), ...checkJson(value, '')]) {
      problems.push({ ...problem, path: pointerOf(field) + problem.path });
    }
  }
  return problems;
}

const emptied = (value: unknown) => (value === '' ? null : value);

/**
 * Empty strings in nullable fields mean null. Copies only what it changes, never the caller's
 * object.
 */
function emptyToNull(raw: unknown): unknown {
  if (!isObject(raw)) return raw;
  const event: Record<string, unknown> = { ...raw };
  if (event.reason === '') event.reason = null;
  if (isObject(event.actor)) {
    const actor: Record<string, unknown> = { ...event.actor };
    for (const key of ['email', 'ip', 'userAgent'])
      if (key in actor) actor[key] = emptied(actor[key]);
    event.actor = actor;
  }
  if (isObject(event.resource) && event.resource.name === '') {
    event.resource = { ...event.resource, name: null };
  }
  return event;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function ruleProblems(
  event: RawEvent,
  { nowMs, catalogue, boundTenantId }: TakeContext,
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (path: string, code: string, message: string) =>
    problems.push({ path, code, message });
  const stamp =
    event.timestamp === undefined ? undefined : (parseTimestamp(event.timestamp) ?? undefined);
  const uuid = event.id === undefined ? undefined : uuidFromEventId(event.id);
  if (uuid === null)
    add('/id', 'invalid_format', 'is not a TypeID of a UUIDv7 with the prefix evt_audit');
  const idTime = uuid ? uuidTimeMs(uuid) : undefined;
  if (idTime !== undefined && stamp !== undefined && idTime !== stamp) {
    add('/timestamp', 'id_timestamp_mismatch', 'differs from the time within the id');
  }
  if ((idTime ?? stamp ?? nowMs) > nowMs + limits.futureMsMax) {
    add(
      stamp === undefined ? '/id' : '/timestamp',
      'timestamp_in_future',
      'is more than 5 minutes ahead',
    );
  }
  if (event.crossTenant === true && event.actor.role !== 'superadmin') {
    add('/crossTenant', 'cross_tenant_mismatch', 'is true, but the actor is not a superadmin');
  }
  if (!boundTenantId && event.tenantId === undefined) {
    add('/tenantId', 'required', 'is needed with a credential that is bound to the platform');
  }
  const refusal = catalogue.notRecordable(event.action, event.resource.type);
  if (refusal) add('/action', 'not_recordable', refusal);
  return problems;
}

function identify(event: RawEvent, { nowMs, newUuid, boundTenantId, recordedBy }: TakeContext) {
  const sent = event.id === undefined ? null : uuidFromEventId(event.id);
  const stamp = event.timestamp === undefined ? null : parseTimestamp(event.timestamp);
  return {
    uuid: sent ?? newUuid(stamp ?? nowMs),
    tenantId: (event.tenantId ?? boundTenantId ?? '').toLowerCase(),
    recordedByKind: recordedBy.kind,
    recordedById: recordedBy.id,
  };
}

function describe(event: RawEvent, { catalogue }: TakeContext, warnings: WarningCode[]) {
  const { actor, resource } = event;
  const crossTenant = actor.role === 'superadmin';
  return {
    actorId: actor.id.toLowerCase(),
    actorEmail: actor.email ?? null,
    actorRole: actor.role,
    actorIp: actor.ip ? canonicalIp(actor.ip) : null,
    actorUserAgent: cutUserAgent(actor.userAgent ?? null, warnings),
    action: event.action,
    resourceType: resource.type,
    resourceId: resource.id.toLowerCase(),
    resourceName: resource.name ?? null,
    crossTenant,
    reason: event.reason ?? null,
    category: catalogue.categoryOf(event.action, crossTenant),
  };
}

/** RFC 5952 text; the shape check has made sure that it is an address. */
function canonicalIp(text: string): string {
  const address = ipaddr.parse(text);
  if (!(address instanceof ipaddr.IPv6)) return address.toString();
  // Section 5: an IPv4 address within an IPv6 one stays readable.
  if (address.isIPv4MappedAddress()) return `::ffff:${address.toIPv4Address().toString()}`;
  return address.toRFC5952String();
}

// Cut, not refused: an over-long user agent must not be able to suppress a failed login.
function cutUserAgent(text: string | null, warnings: WarningCode[]): string | null {
  if (text === null || text.length <= limits.userAgentMax) return text;
  const characters = [...text];
  if (characters.length <= limits.userAgentMax) return text;
  warnings.push('truncated');
  return characters.slice(0, limits.userAgentMax).join('');
}

function operatorWarnings(event: RawEvent): WarningCode[] {
  if (event.actor.role !== 'superadmin') return [];
  const warnings: WarningCode[] = [];
  if (!isVisible(event.reason ?? '')) warnings.push('reason_missing');
  if (!event.actor.email) warnings.push('operator_email_missing');
  return warnings;
}

function stateWarnings(event: RawEvent, catalogue: Catalogue): WarningCode[] {
  const missing = catalogue.stateWarning(
    event.resource.type,
    event.action,
    event.before != null,
    event.after != null,
  );
  return missing ? ['state_missing'] : [];
}

/** Masks and canonicalises the diff and the states, and computes the diff when only states came. */
function takeChanges(
  event: RawEvent,
  { masker }: TakeContext,
  warnings: WarningCode[],
  problems: FieldProblem[],
) {
  const before = masker.maskState(event.before ?? null);
  const after = masker.maskState(event.after ?? null);
  // From the states as sent: two masked secrets look equal, and their change would go unseen.
  const computed =
    event.diff === undefined
      ? diffStates(objectOrNull(event.before), objectOrNull(event.after), limits.diffFieldsMax)
      : null;
  const diff = masker.maskDiff(computed?.diff ?? event.diff ?? {});
  if (before.masked || after.masked || diff.masked) warnings.push('secret_masked');
  if (computed?.truncated) warnings.push('diff_truncated');
  return {
    diff: canonicalize(diff.diff),
    before: stateText(before.value, '/before', problems),
    after: stateText(after.value, '/after', problems),
  };
}

function objectOrNull(value: JsonValue | undefined): { [key: string]: JsonValue } | null {
  return isObject(value) ? value : null;
}

function stateText(value: JsonValue, path: string, problems: FieldProblem[]): string | null {
  if (value === null) return null;
  const text = canonicalize(value);
  if (text.length * 3 > limits.stateBytesMax && Buffer.byteLength(text) > limits.stateBytesMax) {
    problems.push({ path, code: 'too_long', message: 'is larger than 256 KiB' });
  }
  return text;
}
