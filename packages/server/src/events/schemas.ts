import {
  batchEventsMax,
  categories,
  diffFieldsMax,
  diffTextBytesMax,
  type EventField,
  eventBytesMax,
  eventFields,
  snakeCasePattern,
  withholdableSegments,
} from '@indelible/protocol';
import { type TSchema, Type } from 'typebox';
import { strict } from '../http/index.ts';

/*
 * The shapes of an audit event for the OpenAPI document, from the field table. Tests check every
 * answer with them; `takeEvent` checks input, from the same table.
 */

type Schema = Record<string, unknown>;

const scalar = { type: ['string', 'number', 'boolean', 'null'], maxLength: diffTextBytesMax };
const change = {
  ...{ type: 'object', ...strict, required: ['from', 'to'] },
  properties: { from: scalar, to: scalar },
};

const kinds: Record<EventField['kind'], Schema> = {
  eventId: { type: 'string', pattern: '^evt_audit_[0-7][0-9a-hjkmnp-tv-z]{25}$' },
  uuid: { type: 'string', format: 'uuid' },
  word: { type: 'string', pattern: snakeCasePattern },
  role: { type: 'string', pattern: '^[^\\s\\p{Cc}\\p{Cf}]+$', minLength: 1 },
  email: { type: 'string', format: 'email' },
  ip: { type: 'string', format: 'ip' },
  text: { type: 'string', maxLength: eventBytesMax },
  time: { type: 'string', format: 'date-time' },
  category: { type: 'string', enum: [...categories] },
  recordedBy: { type: 'string', enum: ['api_key', 'service'] },
  boolean: { type: 'boolean' },
  sequence: { type: 'integer', minimum: 0 },
  // Not a pattern of names: it would not match a name with a line break.
  diff: { type: 'object', additionalProperties: change, maxProperties: diffFieldsMax },
  state: { type: 'object' },
};

function schemaOf({ kind, nullable, lengthMax, about, examples }: EventField): Schema {
  const { type, ...rules } = kinds[kind];
  return {
    ...{ type: nullable ? [type, 'null'] : type, ...rules },
    ...(lengthMax === undefined ? {} : { maxLength: lengthMax }),
    ...(about === undefined ? {} : { description: about }),
    ...(examples === undefined ? {} : { examples }),
  };
}

/** The object of these fields; fields of an inner object form their own. */
function objectOf(
  fields: readonly EventField[],
  isRequired: (field: EventField) => boolean,
): Schema & { properties: Record<string, Schema>; required: string[] } {
  const properties: Record<string, Schema> = {};
  const required = new Set<string>();
  for (const field of fields) {
    const name = field.owner ?? field.name;
    if (isRequired(field)) required.add(name);
    if (field.owner === null) properties[name] = schemaOf(field);
    else {
      const inner = fields.filter(({ owner }) => owner === name);
      const own = inner.map((each) => ({ ...each, owner: null }));
      properties[name] ??= objectOf(own, isRequired);
    }
  }
  return { type: 'object', ...strict, required: [...required], properties };
}

const named = (title: string, schema: Schema): TSchema => Type.Unsafe({ ...schema, title });

export const eventExample = {
  actor: {
    id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a',
    email: 'ana@example.com',
    role: 'admin',
    ip: '203.0.113.7',
  },
  action: 'update',
  resource: { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11', name: 'Sales' },
  diff: { maxWaitSeconds: { from: 30, to: 60 } },
};

/** An event to record. Unknown fields are refused, not dropped. */
export const EventInput = named(
  'AuditEventInput',
  objectOf(
    eventFields.filter(({ sent }) => sent !== undefined),
    ({ sent }) => sent === 'required',
  ),
);

const stored = objectOf(eventFields, () => true);
const erased = {
  type: 'array',
  items: { type: 'string', enum: [...withholdableSegments] },
  description:
    'Only where something was erased since: `identity` (e-mail, ip, user agent, resource name), ' +
    '`change` (diff, reason), `state` (before, after). What the log proves of the event still holds.',
};

/** The single read, with both states. */
const full = { ...stored, properties: { ...stored.properties, erased } };
export const FullEvent = named('AuditEvent', {
  ...full,
  description: 'The event, with its states.',
});

/** An event of a list; `before` and `after` only with `include=state`. */
export const ListedEvent = named('ListedAuditEvent', {
  ...full,
  required: stored.required.filter((name) => name !== 'before' && name !== 'after'),
});

const warnings = Type.Array(Type.String(), {
  description: 'What was changed or missing; not stored.',
});

const leafHash = {
  ...{ type: 'string', pattern: '^[0-9a-f]{64}$' },
  description: 'RFC 6962 hash of the log entry.',
};

export const RecordedEvent = named('RecordedAuditEvent', {
  ...full,
  required: [...stored.required, 'leafHash', 'warnings'],
  properties: { ...full.properties, leafHash, warnings },
});

export const FieldError = Type.Object(
  {
    path: Type.String({ description: 'JSON Pointer, or the parameter.' }),
    code: Type.String(),
    message: Type.String(),
  },
  { ...strict, title: 'FieldProblem' },
);

const rejection = Type.Object(
  { code: Type.String(), detail: Type.String(), errors: Type.Optional(Type.Array(FieldError)) },
  { ...strict, title: 'Rejection' },
);

export const BatchInput = Type.Object(
  {
    events: Type.Array(EventInput, { minItems: 1, maxItems: batchEventsMax }),
  },
  { ...strict, title: 'EventBatch' },
);

const BatchResult = Type.Object(
  {
    index: Type.Integer({ description: 'Position in the batch, from 0.' }),
    status: Type.Enum(['created', 'duplicate', 'rejected']),
    id: Type.Optional(Type.Unsafe<string>(kinds.eventId)),
    sequence: Type.Optional(Type.Unsafe<number>(kinds.sequence)),
    warnings: Type.Optional(warnings),
    error: Type.Optional(rejection),
  },
  { ...strict, title: 'BatchResult' },
);

export const BatchResults = Type.Object(
  { results: Type.Array(BatchResult) },
  { ...strict, title: 'BatchResults', description: 'One result for each event, in their order.' },
);
