import { categories } from './catalogue-data.ts';
import {
  correlationIdLengthMax,
  emailLengthMax,
  externalIdLengthMax,
  inKib,
  ipLengthMax,
  nameLengthMax,
  onBehalfOfMax,
  reasonLengthMax,
  roleLengthMax,
  sourceIdLengthMax,
  stateBytesMax,
  targetsMax,
  userAgentLengthMax,
  viaTextLengthMax,
  wordLengthMax,
} from './limits.ts';

/**
 * The fields of an event. From this table follow the validation of sent events (`usable-event.ts`),
 * the columns of CSV and archive, the statements that read and write events, and the OpenAPI
 * document. The texts that are hashed and shown (`event-texts.ts`) are written by hand, for speed;
 * a test compares them with the table.
 */

/**
 * Segment names in ASCII order. Hashing and the 16-byte salts of an event use this order. Only an
 * event of version 2 has `context`, only an event with a state has `state`.
 */
export const segmentNames = ['change', 'context', 'event', 'identity', 'state'] as const;
export type SegmentName = (typeof segmentNames)[number];

/**
 * The fields that the log commits to. `diff`, `before` and `after` are RFC 8785 texts, made once
 * when the event is taken. Ids are lower-case UUIDs.
 */
export interface CommittedEvent {
  tenantId: string;
  uuid: string;
  actorId: string;
  actorEmail: string | null;
  actorRole: string;
  actorIp: string | null;
  actorUserAgent: string | null;
  action: string;
  resourceType: string;
  resourceId: string;
  resourceName: string | null;
  diff: string;
  crossTenant: boolean;
  reason: string | null;
  category: string;
  recordedByKind: string;
  recordedById: string;
  before: string | null;
  after: string | null;
  /**
   * The text of the segment `context`; null in an event of version 1. `contextTexts` makes both.
   */
  context: string | null;
  /** The members of `identity` that version 2 has added, as an object of their own. */
  contextIdentity: string | null;
}

/** The kind of a field decides its validation, storage, packing and documentation. */
export type FieldKind =
  | ('eventId' | 'uuid' | 'word' | 'role' | 'email' | 'ip' | 'text' | 'name' | 'choice')
  | ('tenant' | 'externalId' | 'traceId' | 'time' | 'boolean' | 'sequence' | 'diff' | 'state')
  | ('object' | 'list' | 'metadata' | 'texts' | 'context');

/**
 * What becomes of a value that cannot be used, with a warning: it is cut at its limit, or dropped.
 * A text that is cut is dropped if it has not the right form. Absent: it refuses the event.
 */
type Unusable = 'cut' | 'drop';

/** A member of a field that is an object, or a list of objects. */
export interface MemberRule {
  kind: FieldKind;
  lengthMax?: number;
  /** The values of a choice. */
  values?: readonly string[];
  /** Absent if optional. */
  sent?: 'required';
  /** What becomes of a text that cannot be used; absent: the object is refused or dropped. */
  unusable?: Unusable;
  /** It need not be sent beside one of these members. */
  unless?: readonly ('externalId' | 'email')[];
  /** Personal: erased with the identity, while the rest of the field stays. */
  segment?: 'identity';
}

interface FieldRule {
  kind: FieldKind;
  /** The first version of log entries that holds it; absent for version 1. Shown only if set. */
  since?: 2;
  /** Newer than verifiers that are in use: body lines name it if it is personal. */
  isLater?: true;
  values?: readonly string[];
  /** The members of an object, or of each object of a list. */
  members?: Readonly<Record<string, MemberRule>>;
  /** The most objects of a list. */
  itemsMax?: number;
  /** Its member in the service, and its column; absent for derived fields. */
  key?: keyof StoredFields;
  column?: string;
  /** May be null. An empty text counts as null. */
  nullable?: true;
  /** In characters. */
  lengthMax?: number;
  /** The segment that commits to it; absent for what the log entry holds. */
  segment?: SegmentName;
  unusable?: Unusable;
  /** Absent if only the service sets it. */
  sent?: 'required' | 'optional';
  /** It need not be sent beside one of these members of its object. */
  unless?: readonly ('externalId' | 'email')[];
  /** Whether CSV files have it by default or only on request. */
  csv?: 'standard' | 'further';
  /** For the OpenAPI document. */
  about?: string;
  examples?: readonly string[];
}

/** The members of an event as it is stored. */
export interface StoredFields extends CommittedEvent {
  sequence: number;
  receivedAtMs: number;
}

export const outcomes = ['success', 'failure', 'denied'] as const;
export type Outcome = (typeof outcomes)[number];
export const actorTypes = ['user', 'service', 'agent', 'system'] as const;
export type ActorType = (typeof actorTypes)[number];

/** Erased with the identity, and cut if it is too long. */
const personal = { segment: 'identity', unusable: 'cut' } as const;

const externalId = {
  kind: 'externalId',
  since: 2,
  lengthMax: externalIdLengthMax,
  ...personal,
  sent: 'optional',
  csv: 'further',
} as const;
const personName = { kind: 'name', lengthMax: nameLengthMax, ...personal } as const;
const idOrExternal = {
  id: { kind: 'uuid', sent: 'required', unless: ['externalId'] },
  externalId: { kind: 'externalId', lengthMax: externalIdLengthMax, ...personal },
} as const;
const viaText = { kind: 'text', lengthMax: viaTextLengthMax, unusable: 'cut' } as const;
/** In the segment `context`, but for members that are personal. */
const ofContext = { since: 2, segment: 'context', sent: 'optional', csv: 'further' } as const;

/** By the name in JSON and CSV, in the order of JSON. A dot leads into an object. */
const fieldRules = {
  id: {
    kind: 'eventId',
    key: 'uuid',
    column: 'id',
    segment: 'event',
    sent: 'optional',
    csv: 'standard',
    about: 'TypeID of a UUIDv7 whose millisecond is `timestamp`. Send it to make retries safe.',
  },
  timestamp: {
    kind: 'time',
    segment: 'event',
    sent: 'optional',
    csv: 'standard',
    about: 'Moment of the action; taken from `id`, else now.',
  },
  tenantId: {
    kind: 'tenant',
    key: 'tenantId',
    column: 'tenant_id',
    segment: 'event',
    lengthMax: externalIdLengthMax,
    sent: 'optional',
    csv: 'standard',
    about: 'May be omitted by a credential that is bound to one tenant. Sent as UUID or own id.',
  },
  'actor.id': {
    kind: 'uuid',
    key: 'actorId',
    column: 'actor_id',
    segment: 'event',
    sent: 'required',
    unless: ['externalId', 'email'],
    csv: 'standard',
    about: 'Who acted; the nil UUID for an unauthenticated actor.',
  },
  'actor.email': {
    unusable: 'drop',
    kind: 'email',
    key: 'actorEmail',
    column: 'actor_email',
    segment: 'identity',
    nullable: true,
    lengthMax: emailLengthMax,
    sent: 'optional',
    csv: 'standard',
  },
  'actor.role': {
    unusable: 'cut',
    kind: 'role',
    key: 'actorRole',
    column: 'actor_role',
    segment: 'event',
    lengthMax: roleLengthMax,
    sent: 'required',
    csv: 'standard',
    examples: ['admin', 'superadmin'],
  },
  'actor.ip': {
    unusable: 'drop',
    kind: 'ip',
    key: 'actorIp',
    column: 'actor_ip',
    segment: 'identity',
    nullable: true,
    lengthMax: ipLengthMax,
    sent: 'optional',
    csv: 'standard',
    about: 'IPv4 or IPv6, stored canonically (RFC 5952).',
  },
  'actor.userAgent': {
    unusable: 'cut',
    kind: 'text',
    key: 'actorUserAgent',
    column: 'actor_user_agent',
    segment: 'identity',
    nullable: true,
    lengthMax: userAgentLengthMax,
    sent: 'optional',
    csv: 'standard',
    about: 'Cut at 1,024 characters, with warning `truncated`.',
  },
  'actor.type': {
    unusable: 'drop',
    kind: 'choice',
    values: actorTypes,
    ...ofContext,
    about: 'What kind of actor it is.',
  },
  'actor.name': {
    ...personName,
    since: 2,
    sent: 'optional',
    csv: 'further',
    about: 'What people call the actor.',
  },
  'actor.externalId': {
    ...externalId,
    about: "The host's own id. Without `actor.id`, the service derives the UUID from it.",
  },
  action: {
    kind: 'word',
    key: 'action',
    column: 'action',
    segment: 'event',
    lengthMax: wordLengthMax,
    sent: 'required',
    csv: 'standard',
    about: 'What was done.',
    examples: ['create', 'update', 'delete', 'access'],
  },
  outcome: {
    unusable: 'drop',
    kind: 'choice',
    values: outcomes,
    ...ofContext,
    about: 'Whether it succeeded. An action that ends in `_failed` counts as a failure without it.',
  },
  'resource.type': {
    kind: 'word',
    key: 'resourceType',
    column: 'resource_type',
    segment: 'event',
    lengthMax: wordLengthMax,
    sent: 'required',
    csv: 'standard',
    about: 'What kind of thing was acted on.',
    examples: ['queue', 'ivr', 'recording'],
  },
  'resource.id': {
    kind: 'uuid',
    key: 'resourceId',
    column: 'resource_id',
    segment: 'event',
    sent: 'required',
    unless: ['externalId'],
    csv: 'standard',
    about: 'Which one.',
  },
  'resource.name': {
    unusable: 'cut',
    kind: 'text',
    key: 'resourceName',
    column: 'resource_name',
    segment: 'identity',
    nullable: true,
    lengthMax: nameLengthMax,
    sent: 'optional',
    csv: 'standard',
    about: 'A label people recognise.',
  },
  'resource.externalId': {
    ...externalId,
    about: "The host's own id. Without `resource.id`, the service derives the UUID from it.",
  },
  diff: {
    kind: 'diff',
    key: 'diff',
    column: 'diff',
    segment: 'change',
    sent: 'optional',
    csv: 'standard',
    about: 'Field by field: `{field: {from, to}}`.',
  },
  crossTenant: {
    kind: 'boolean',
    key: 'crossTenant',
    column: 'cross_tenant',
    segment: 'event',
    sent: 'optional',
    csv: 'standard',
    about: 'Set by the service from the roles of `actor` and `onBehalfOf`.',
  },
  reason: {
    unusable: 'cut',
    kind: 'text',
    key: 'reason',
    column: 'reason',
    segment: 'change',
    nullable: true,
    lengthMax: reasonLengthMax,
    sent: 'optional',
    csv: 'standard',
    about: "The operator's declared reason.",
  },
  correlationId: {
    unusable: 'cut',
    kind: 'externalId',
    lengthMax: correlationIdLengthMax,
    ...ofContext,
    about: 'What the events of one request, job or message have in common.',
  },
  traceId: {
    unusable: 'drop',
    kind: 'traceId',
    lengthMax: 32,
    ...ofContext,
    about: 'W3C trace id, 32 hexadecimal digits.',
  },
  onBehalfOf: {
    kind: 'list',
    itemsMax: onBehalfOfMax,
    ...ofContext,
    members: {
      ...idOrExternal,
      id: { kind: 'uuid', sent: 'required', unless: ['externalId', 'email'] },
      email: { kind: 'email', lengthMax: emailLengthMax, ...personal, unusable: 'drop' },
      name: personName,
      type: { kind: 'choice', values: actorTypes, unusable: 'drop' },
      role: { kind: 'role', lengthMax: roleLengthMax, unusable: 'cut' },
    },
    about: 'For whom the actor acts, nearest first, as `act` of RFC 8693.',
  },
  via: {
    kind: 'object',
    ...ofContext,
    members: {
      channel: { ...viaText, sent: 'required' },
      clientId: viaText,
      tool: viaText,
      sessionId: viaText,
    },
    about: 'How it was done: `channel` is `ui`, `api`, `cli`, `mcp`, `job` or another word.',
  },
  targets: {
    kind: 'list',
    itemsMax: targetsMax,
    ...ofContext,
    members: {
      type: { kind: 'word', lengthMax: wordLengthMax, sent: 'required' },
      ...idOrExternal,
      name: personName,
    },
    about: 'Further resources that it acted on.',
  },
  metadata: {
    kind: 'metadata',
    ...ofContext,
    about: 'Anything else, as a flat object. Secrets are masked as in states.',
  },
  source: {
    kind: 'object',
    ...ofContext,
    members: {
      id: { kind: 'externalId', lengthMax: sourceIdLengthMax, sent: 'required' },
      sequence: { kind: 'sequence', sent: 'required' },
    },
    about: 'Stamped by recorder and outbox, so that gaps are noticed.',
  },
  asSent: {
    kind: 'texts',
    isLater: true,
    ...ofContext,
    segment: 'identity',
    about: 'Texts of cut and dropped values, by JSON Pointer. Set by the service, or exported.',
  },
  before: {
    kind: 'state',
    key: 'before',
    column: 'before',
    segment: 'state',
    nullable: true,
    sent: 'optional',
    csv: 'further',
    about: `Complete state before the change, at most ${inKib(stateBytesMax)}.`,
  },
  after: {
    kind: 'state',
    key: 'after',
    column: 'after',
    segment: 'state',
    nullable: true,
    sent: 'optional',
    csv: 'further',
    about: `Complete state after the change, at most ${inKib(stateBytesMax)}.`,
  },
  category: {
    kind: 'choice',
    key: 'category',
    column: 'category',
    segment: 'event',
    values: categories,
    csv: 'standard',
  },
  hasState: { kind: 'boolean', about: 'Whether `before` or `after` is stored.' },
  sequence: {
    kind: 'sequence',
    key: 'sequence',
    column: 'sequence',
    csv: 'standard',
    about: "Position in the tenant's log, without gaps.",
  },
  receivedAt: {
    kind: 'time',
    key: 'receivedAtMs',
    column: 'received_at',
    csv: 'further',
    about: 'When the service took it.',
  },
  'recordedBy.kind': {
    kind: 'choice',
    key: 'recordedByKind',
    column: 'recorded_by_kind',
    segment: 'event',
    values: ['api_key', 'service'],
  },
  'recordedBy.id': {
    kind: 'uuid',
    key: 'recordedById',
    column: 'recorded_by_id',
    segment: 'event',
  },
} as const satisfies Record<string, FieldRule>;

export type FieldPath = keyof typeof fieldRules;

export type CsvField<Kind extends 'standard' | 'further'> = {
  [Path in FieldPath]: (typeof fieldRules)[Path] extends { csv: Kind } ? Path : never;
}[FieldPath];

export interface EventField extends FieldRule {
  path: FieldPath;
  /** The object that contains it, if any, and its name there. */
  owner: string | null;
  name: string;
}

/** What has a column of its own. */
export interface StoredField extends FieldRule {
  key: keyof StoredFields;
  column: string;
}

export const eventFields: readonly EventField[] = Object.entries(fieldRules).map(([path, rule]) => {
  const [first = '', second] = path.split('.');
  const names =
    second === undefined ? { owner: null, name: first } : { owner: first, name: second };
  return { path: path as FieldPath, ...names, ...rule };
});

/** The fields that version 2 has added; `context.ts` splits them over two texts. */
export const contextFields = eventFields.filter(({ since }) => since === 2);

const contextText = { kind: 'context', nullable: true } as const;

/** Every column: those of fields, and the two texts of the fields of version 2. */
export const storedFields: readonly StoredField[] = [
  ...eventFields.filter(
    (field): field is EventField & StoredField =>
      field.key !== undefined && field.column !== undefined,
  ),
  { ...contextText, key: 'context', column: 'context', segment: 'context' },
  { ...contextText, key: 'contextIdentity', column: 'context_identity', segment: 'identity' },
];

/** The fields whose texts decide how large an event is. */
export const longFields = (withStates: boolean): readonly StoredField[] =>
  storedFields.filter(
    ({ kind }) => ['diff', 'text', 'context'].includes(kind) || (withStates && kind === 'state'),
  );

/** The values that replace the fields of a withheld or erased segment. */
export function emptiedSegment(segment: SegmentName): Partial<CommittedEvent> {
  const fields = storedFields.filter((field) => field.segment === segment);
  return Object.fromEntries(fields.map(({ key, kind }) => [key, kind === 'diff' ? '{}' : null]));
}
