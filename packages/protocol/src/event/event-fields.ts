import {
  emailLengthMax,
  inKib,
  ipLengthMax,
  reasonLengthMax,
  resourceNameLengthMax,
  roleLengthMax,
  stateBytesMax,
  wordLengthMax,
} from './limits.ts';

/**
 * The fields of an event. From this table follow the validation of sent events (`check-event.ts`),
 * the columns of CSV and archive, the statements that read and write events, and the OpenAPI
 * document. The texts that are hashed and shown (`event-texts.ts`) are written by hand, for speed;
 * a test compares them with the table.
 */

/** Segment names in ASCII order. Hashing and the 16-byte salts of an event use this order. */
export const segmentNames = ['change', 'event', 'identity', 'state'] as const;
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
}

/** The kind of a field decides its validation, storage, packing and documentation. */
export type FieldKind =
  | ('eventId' | 'uuid' | 'word' | 'role' | 'email' | 'ip' | 'text' | 'category' | 'recordedBy')
  | ('time' | 'boolean' | 'sequence' | 'diff' | 'state');

interface FieldRule {
  kind: FieldKind;
  /** Its member in the service, and its column; absent for derived fields. */
  key?: keyof StoredFields;
  column?: string;
  /** May be null. An empty text counts as null. */
  nullable?: true;
  /** In characters. */
  lengthMax?: number;
  /** The segment that commits to it; absent for what the log entry holds. */
  segment?: SegmentName;
  /** Absent if only the service sets it. */
  sent?: 'required' | 'optional';
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

/** By the name in JSON and CSV, in the order of JSON. A dot leads into an object. */
const fieldRules = {
  id: {
    ...{ kind: 'eventId', key: 'uuid', column: 'id', segment: 'event' },
    ...{ sent: 'optional', csv: 'standard' },
    about: 'TypeID of a UUIDv7 whose millisecond is `timestamp`. Send it to make retries safe.',
  },
  timestamp: {
    ...{ kind: 'time', segment: 'event', sent: 'optional', csv: 'standard' },
    about: 'Moment of the action; taken from `id`, else now.',
  },
  tenantId: {
    ...{ kind: 'uuid', key: 'tenantId', column: 'tenant_id', segment: 'event' },
    ...{ sent: 'optional', csv: 'standard' },
    about: 'May be omitted by a credential that is bound to one tenant.',
  },
  'actor.id': {
    ...{ kind: 'uuid', key: 'actorId', column: 'actor_id', segment: 'event' },
    ...{ sent: 'required', csv: 'standard' },
    about: 'Who acted; the nil UUID for an unauthenticated actor.',
  },
  'actor.email': {
    ...{ kind: 'email', key: 'actorEmail', column: 'actor_email', segment: 'identity' },
    ...{ nullable: true, lengthMax: emailLengthMax, sent: 'optional', csv: 'standard' },
  },
  'actor.role': {
    ...{ kind: 'role', key: 'actorRole', column: 'actor_role', segment: 'event' },
    ...{ lengthMax: roleLengthMax, sent: 'required', csv: 'standard' },
    examples: ['admin', 'superadmin'],
  },
  'actor.ip': {
    ...{ kind: 'ip', key: 'actorIp', column: 'actor_ip', segment: 'identity' },
    ...{ nullable: true, lengthMax: ipLengthMax, sent: 'optional', csv: 'standard' },
    about: 'IPv4 or IPv6, stored canonically (RFC 5952).',
  },
  'actor.userAgent': {
    ...{ kind: 'text', key: 'actorUserAgent', column: 'actor_user_agent', segment: 'identity' },
    ...{ nullable: true, sent: 'optional', csv: 'standard' },
    about: 'Cut at 1,024 characters, with warning `truncated`.',
  },
  action: {
    ...{ kind: 'word', key: 'action', column: 'action', segment: 'event' },
    ...{ lengthMax: wordLengthMax, sent: 'required', csv: 'standard' },
    ...{ about: 'What was done.', examples: ['create', 'update', 'delete', 'access'] },
  },
  'resource.type': {
    ...{ kind: 'word', key: 'resourceType', column: 'resource_type', segment: 'event' },
    ...{ lengthMax: wordLengthMax, sent: 'required', csv: 'standard' },
    ...{ about: 'What kind of thing was acted on.', examples: ['queue', 'ivr', 'recording'] },
  },
  'resource.id': {
    ...{ kind: 'uuid', key: 'resourceId', column: 'resource_id', segment: 'event' },
    ...{ sent: 'required', csv: 'standard', about: 'Which one.' },
  },
  'resource.name': {
    ...{ kind: 'text', key: 'resourceName', column: 'resource_name', segment: 'identity' },
    ...{ nullable: true, lengthMax: resourceNameLengthMax, sent: 'optional', csv: 'standard' },
    about: 'A label people recognise.',
  },
  diff: {
    ...{ kind: 'diff', key: 'diff', column: 'diff', segment: 'change' },
    ...{ sent: 'optional', csv: 'standard', about: 'Field by field: `{field: {from, to}}`.' },
  },
  crossTenant: {
    ...{ kind: 'boolean', key: 'crossTenant', column: 'cross_tenant', segment: 'event' },
    ...{ sent: 'optional', csv: 'standard', about: 'Set by the service from `actor.role`.' },
  },
  reason: {
    ...{ kind: 'text', key: 'reason', column: 'reason', segment: 'change' },
    ...{ nullable: true, lengthMax: reasonLengthMax, sent: 'optional', csv: 'standard' },
    about: "The operator's declared reason.",
  },
  before: {
    ...{ kind: 'state', key: 'before', column: 'before', segment: 'state' },
    ...{ nullable: true, sent: 'optional', csv: 'further' },
    about: `Complete state before the change, at most ${inKib(stateBytesMax)}.`,
  },
  after: {
    ...{ kind: 'state', key: 'after', column: 'after', segment: 'state' },
    ...{ nullable: true, sent: 'optional', csv: 'further' },
    about: `Complete state after the change, at most ${inKib(stateBytesMax)}.`,
  },
  category: {
    ...{ kind: 'category', key: 'category', column: 'category', segment: 'event' },
    csv: 'standard',
  },
  hasState: { kind: 'boolean', about: 'Whether `before` or `after` is stored.' },
  sequence: {
    ...{ kind: 'sequence', key: 'sequence', column: 'sequence', csv: 'standard' },
    about: "Position in the tenant's log, without gaps.",
  },
  receivedAt: {
    ...{ kind: 'time', key: 'receivedAtMs', column: 'received_at', csv: 'further' },
    about: 'When the service took it.',
  },
  'recordedBy.kind': {
    ...{ kind: 'recordedBy', key: 'recordedByKind', column: 'recorded_by_kind', segment: 'event' },
  },
  'recordedBy.id': {
    ...{ kind: 'uuid', key: 'recordedById', column: 'recorded_by_id', segment: 'event' },
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

/** A field with a column of its own. */
export interface StoredField extends EventField {
  key: keyof StoredFields;
  column: string;
}

export const eventFields: readonly EventField[] = Object.entries(fieldRules).map(([path, rule]) => {
  const [first = '', second] = path.split('.');
  const names =
    second === undefined ? { owner: null, name: first } : { owner: first, name: second };
  return { path: path as FieldPath, ...names, ...rule };
});

export const storedFields: readonly StoredField[] = eventFields.filter(
  (field): field is StoredField => field.key !== undefined && field.column !== undefined,
);

/** The values that replace the fields of a withheld or erased segment. */
export function emptiedSegment(segment: SegmentName): Partial<CommittedEvent> {
  const fields = storedFields.filter((field) => field.segment === segment);
  return Object.fromEntries(fields.map(({ key, kind }) => [key, kind === 'diff' ? '{}' : null]));
}
