import {
  type Category,
  canonicalize,
  checkJson,
  createMasker,
  defaultCatalogue,
  defaultMaskedKeys,
  diffStates,
  type ErrorCode,
  eventIdFromUuid,
  eventUuid,
  type FieldProblem,
  formatTimestamp,
  isVisible,
  type JsonValue,
  parseTimestamp,
  pointerOf,
  uuidFromEventId,
  uuidTimeMs,
  type WarningCode,
} from '@indelible/protocol';
import type { AuditEvent, Diff, EventInput, State } from '../api-types.ts';
import {
  bytesOf,
  isObject,
  type Members,
  type RuleContext,
  ruleProblems,
  shapeProblems,
} from './event-rules.ts';
import { canonicalIp } from './ip-address.ts';

const eventBytesMax = 600 * 1024;
const stateBytesMax = 256 * 1024;
const userAgentMax = 1_024;

/** An event as the service would show it, but for what only its log can tell. */
export interface CapturedEvent
  extends Pick<AuditEvent, 'id' | 'timestamp' | 'actor' | 'action' | 'resource' | 'diff'> {
  /** Null where neither event nor capture name a tenant. */
  tenantId: string | null;
  crossTenant: boolean;
  reason: string | null;
  category: Category;
  hasState: boolean;
  before: State | null;
  after: State | null;
  /** What the service would warn of; the event is recorded all the same. */
  warnings: WarningCode[];
}

export interface JudgedRefusal {
  code: ErrorCode;
  detail: string;
  errors: FieldProblem[];
}

type Judgement =
  | { event: CapturedEvent; refusal?: never }
  | { refusal: JudgedRefusal; event?: never };

const masker = createMasker(defaultMaskedKeys);
const ownCodes = [
  'id_timestamp_mismatch',
  'timestamp_in_future',
  'cross_tenant_mismatch',
  'not_recordable',
] as const satisfies ErrorCode[];

/**
 * Judges an event as the service would, with its codes and paths, and without configured additions.
 * Left out is what takes its database: unknown tenants, retention, an id that is taken.
 */
export function judgeEvent(sent: unknown, context: RuleContext): Judgement {
  // What goes over the wire: dates are texts, and members that are undefined are not there.
  const text = JSON.stringify(sent) ?? 'null';
  const input = emptyToNull(JSON.parse(text));
  const problems = problemsOf(input, context);
  if (problems.length > 0) return refuse(problems);
  const { tenantId } = input as Partial<EventInput>;
  const { boundTenantId } = context;
  if (boundTenantId && (tenantId ?? boundTenantId).toLowerCase() !== boundTenantId.toLowerCase()) {
    return refusalOf('forbidden', 'this credential is bound to another tenant');
  }
  if (bytesOf(text) > eventBytesMax) {
    return refusalOf('payload_too_large', 'the event is larger than 600 KiB');
  }
  return { event: capturedEvent(input as EventInput, context) };
}

function problemsOf(input: unknown, context: RuleContext): FieldProblem[] {
  const inJson = jsonProblems(input);
  const named = new Set(inJson.map(({ path }) => path));
  const inShape = shapeProblems(input).filter(({ path }) => !named.has(path));
  const known = [...inJson, ...inShape];
  const wrong = new Set(known.map(({ path }) => path));
  const sizes = known.length > 0 ? [] : stateProblems(input as EventInput);
  return [...known, ...sizes, ...(isObject(input) ? ruleProblems(input, wrong, context) : [])];
}

function jsonProblems(input: unknown): FieldProblem[] {
  if (!isObject(input)) return [];
  return Object.entries(input).flatMap(([field, value]) =>
    [...checkJson(field, ''), ...checkJson(value, '')].map((problem) => {
      return { ...problem, path: pointerOf(field) + problem.path };
    }),
  );
}

function stateProblems({ before, after }: EventInput): FieldProblem[] {
  return Object.entries({ before, after })
    .filter(([, state]) => state != null && bytesOf(maskedText(state)) > stateBytesMax)
    .map(([name]) => ({ path: `/${name}`, code: 'too_long', message: 'is larger than 256 KiB' }));
}

const maskedText = (state: object) => canonicalize(masker.maskState(state as JsonValue).value);

function refusalOf(code: ErrorCode, detail: string, errors: FieldProblem[] = []): Judgement {
  return { refusal: { code, detail, errors } };
}

// As the service answers: one problem with a code of its own gives that code, several do not.
function refuse(errors: FieldProblem[]): Judgement {
  const own = ownCodes.find((code) => errors.length === 1 && errors[0]?.code === code);
  const lines = errors.map(({ path, code, message }) => `${path} ${message} (${code})`);
  return refusalOf(own ?? 'validation_failed', lines.join('; '), errors);
}

/** Empty texts in fields that may be null mean null. */
function emptyToNull(input: unknown): unknown {
  if (!isObject(input)) return input;
  return {
    ...input,
    ...(input.reason === '' ? { reason: null } : {}),
    ...emptied(input, 'actor', ['email', 'ip', 'userAgent']),
    ...emptied(input, 'resource', ['name']),
  };
}

function emptied(input: Members, name: string, fields: string[]): Members {
  const owner = input[name];
  if (!isObject(owner)) return {};
  const empty = fields.filter((field) => owner[field] === '');
  return { [name]: { ...owner, ...Object.fromEntries(empty.map((field) => [field, null])) } };
}

function capturedEvent(event: EventInput, context: RuleContext): CapturedEvent {
  const { actor, resource, action, reason = null } = event;
  const crossTenant = actor.role === 'superadmin';
  const changes = changesOf(event);
  const { userAgent, warnings } = cutUserAgent(actor.userAgent ?? null);
  return {
    ...identified(event, context.nowMs),
    tenantId: (event.tenantId ?? context.boundTenantId)?.toLowerCase() ?? null,
    actor: {
      id: actor.id.toLowerCase(),
      email: actor.email ?? null,
      role: actor.role,
      ip: actor.ip ? canonicalIp(actor.ip) : null,
      userAgent,
    },
    action,
    resource: { type: resource.type, id: resource.id.toLowerCase(), name: resource.name ?? null },
    crossTenant,
    reason,
    category: defaultCatalogue.categoryOf(action, crossTenant),
    hasState: changes.before !== null || changes.after !== null,
    ...changes,
    warnings: [
      ...changes.warnings,
      ...operatorWarnings(event),
      ...stateWarnings(event),
      ...warnings,
    ],
  };
}

function identified({ id, timestamp }: EventInput, nowMs: number) {
  const uuid = id === undefined ? null : uuidFromEventId(id);
  const stamp = timestamp === undefined ? null : parseTimestamp(timestamp);
  const timeMs = uuid === null ? (stamp ?? nowMs) : uuidTimeMs(uuid);
  const random = crypto.getRandomValues(new Uint8Array(10));
  return {
    id: id ?? eventIdFromUuid(eventUuid(timeMs, random)),
    timestamp: formatTimestamp(timeMs),
  };
}

function changesOf({ diff, before = null, after = null }: EventInput) {
  const [was, is] = [masker.maskState(before as JsonValue), masker.maskState(after as JsonValue)];
  const computed = diff === undefined ? diffStates(before, after) : { diff, truncated: false };
  // Masked afterwards: two masked secrets look equal, and their change would go unseen.
  const shown = masker.maskDiff(computed.diff);
  const masked = was.masked || is.masked || shown.masked;
  const warnings: WarningCode[] = [
    ...(masked ? (['secret_masked'] as const) : []),
    ...(computed.truncated ? (['diff_truncated'] as const) : []),
  ];
  const [stateBefore, stateAfter] = [was.value as State | null, is.value as State | null];
  return { diff: shown.diff as Diff, before: stateBefore, after: stateAfter, warnings };
}

function cutUserAgent(text: string | null): { userAgent: string | null; warnings: WarningCode[] } {
  const characters = [...(text ?? '')];
  if (characters.length <= userAgentMax) return { userAgent: text, warnings: [] };
  return { userAgent: characters.slice(0, userAgentMax).join(''), warnings: ['truncated'] };
}

function operatorWarnings({ actor, reason }: EventInput): WarningCode[] {
  if (actor.role !== 'superadmin') return [];
  return [
    ...(isVisible(reason ?? '') ? [] : (['reason_missing'] as const)),
    ...(actor.email ? [] : (['operator_email_missing'] as const)),
  ];
}

function stateWarnings({ action, resource, before, after }: EventInput): WarningCode[] {
  const { type } = resource;
  const missing = defaultCatalogue.stateWarning(type, action, before != null, after != null);
  return missing ? ['state_missing'] : [];
}
