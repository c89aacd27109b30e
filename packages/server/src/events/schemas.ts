import {
  batchEventsMax,
  diffFieldsMax,
  diffTextBytesMax,
  type EventField,
  eventBytesMax,
  eventFields,
  type FieldKind,
  type MemberRule,
  metadataKeysMax,
  metadataTextLengthMax,
  withholdableSegments,
  wordPattern,
} from '@indelible/protocol';
import type { TSchema } from 'typebox';
import { described, named, strict } from '../http/field-schemas.ts';
import { Type } from '../http/type.ts';

/*
 * The shapes of an audit event for the OpenAPI document, from the field table. Tests check every
 * answer with them; `takeEvent` checks input, from the same table.
 */

type Schema = Record<string, unknown>;

const scalar = { type: ['string', 'number', 'boolean', 'null'], maxLength: diffTextBytesMax };
const change = {
  type: 'object',
  ...strict,
  required: ['from', 'to'],
  properties: { from: scalar, to: scalar },
};

const kinds: Record<Exclude<FieldKind, 'context'>, Schema> = {
  eventId: { type: 'string', pattern: '^evt_audit_[0-7][0-9a-hjkmnp-tv-z]{25}$' },
  uuid: { type: 'string', format: 'uuid' },
  word: { type: 'string', pattern: wordPattern },
  role: { type: 'string', format: 'role', minLength: 1 },
  name: { type: 'string', format: 'visible' },
  tenant: { type: 'string', format: 'external-id' },
  externalId: { type: 'string', format: 'external-id' },
  traceId: { type: 'string', pattern: '^[0-9A-Fa-f]{32}$' },
  choice: { type: 'string' },
  email: { type: 'string', format: 'email' },
  ip: { type: 'string', format: 'ip' },
  text: { type: 'string', maxLength: eventBytesMax },
  time: { type: 'string', format: 'date-time' },
  boolean: { type: 'boolean' },
  sequence: { type: 'integer', minimum: 0 },
  // Not a pattern of names: it would not match a name with a line break.
  diff: { type: 'object', additionalProperties: change, maxProperties: diffFieldsMax },
  state: { type: 'object' },
  object: { type: 'object', ...strict },
  list: { type: 'array' },
  texts: { type: 'object', additionalProperties: { type: 'string' } },
  metadata: {
    type: 'object',
    maxProperties: metadataKeysMax,
    additionalProperties: {
      type: ['string', 'number', 'boolean', 'null'],
      maxLength: metadataTextLengthMax,
    },
  },
};

/** Input is what a caller sends; the other form is what answers show. */
type Form = 'input' | 'shown';

interface Described extends Omit<MemberRule, 'sent' | 'segment'> {
  nullable?: boolean;
  about?: string;
  examples?: readonly string[];
  members?: Readonly<Record<string, MemberRule>>;
  itemsMax?: number;
}

/** What the service takes of these kinds: values beyond a limit are cut or dropped, not refused. */
const inputKinds: Partial<Record<FieldKind, Schema>> = {
  uuid: { type: 'string', format: 'uuid' },
  role: { type: 'string', minLength: 1 },
  diff: {
    type: 'object',
    additionalProperties: {
      ...change,
      properties: { from: { type: scalar.type }, to: { type: scalar.type } },
    },
  },
  metadata: { type: 'object', additionalProperties: { type: scalar.type } },
};

function inputSchema(field: Described): Schema {
  const { kind, nullable, about, examples, members } = field;
  const isId = kind === 'uuid' && field.unless !== undefined;
  const isLenient = field.unusable !== undefined || isId;
  const { type, ...rules } = inputKinds[kind] ?? kinds[kind as keyof typeof kinds];
  const types = isId || kind === 'externalId' ? [type, 'number', 'null'] : [type];
  const inner = members && objectSchema(propertiesOf(members, 'input'), []);
  const { lengthMax, values } = field;
  return {
    type: nullable ? [...new Set([...types, 'null'])] : types.length > 1 ? types : type,
    ...(isLenient ? (kind === 'role' ? { minLength: 1 } : {}) : rules),
    ...(kind === 'object' ? inner : {}),
    ...(kind === 'list' ? { items: inner } : {}),
    ...(values === undefined || isLenient ? {} : { enum: [...values] }),
    ...(lengthMax === undefined || isLenient ? {} : { maxLength: lengthMax }),
    ...(about === undefined ? {} : { description: about }),
    ...(examples === undefined ? {} : { examples }),
  };
}

function schemaOf(field: Described, form: Form): Schema {
  if (form === 'input') return inputSchema(field);
  const { kind, nullable, lengthMax, values, about, examples, members, itemsMax } = field;
  const spoken = kind === 'tenant' && form === 'shown' ? 'uuid' : kind;
  const { type, ...rules } = kinds[spoken as keyof typeof kinds];
  const inner = members && objectSchema(propertiesOf(members, form), []);
  return {
    type: nullable ? [type, 'null'] : type,
    ...rules,
    ...(kind === 'object' ? inner : {}),
    ...(kind === 'list' ? { items: inner, maxItems: itemsMax } : {}),
    ...(values === undefined ? {} : { enum: nullable ? [...values, null] : [...values] }),
    ...(lengthMax === undefined ? {} : { maxLength: lengthMax }),
    ...(about === undefined ? {} : { description: about }),
    ...(examples === undefined ? {} : { examples }),
  };
}

function propertiesOf(members: Readonly<Record<string, MemberRule>>, form: Form) {
  return Object.fromEntries(
    Object.entries(members).map(([name, rule]) => {
      const nullable = form === 'input' && rule.sent === undefined;
      const isText = rule.kind !== 'sequence' && form === 'shown';
      const text = isText ? { minLength: 1 } : {};
      return [name, { ...schemaOf({ ...rule, nullable }, form), ...text }];
    }),
  );
}

interface Needed {
  name: string;
  /** Needed only without each of these members. */
  unless?: readonly string[] | undefined;
}

function objectSchema(
  properties: Record<string, Schema>,
  needed: readonly Needed[],
): Schema & { properties: Record<string, Schema>; required: string[] } {
  const isAlways = ({ unless }: Needed) => unless === undefined;
  const required = new Set(needed.filter(isAlways).map(({ name }) => name));
  const [either] = needed.filter((each) => !isAlways(each));
  return {
    type: 'object',
    ...strict,
    required: [...required],
    properties,
    ...(either && {
      anyOf: [either.name, ...(either.unless ?? [])].map((name) => ({
        required: [name],
        properties: { [name]: { type: ['string', 'number'] } },
      })),
    }),
  };
}

/** The object of these fields; fields of an inner object form their own. */
function objectOf(fields: readonly EventField[], form: Form) {
  const properties: Record<string, Schema> = {};
  const needed: Needed[] = [];
  for (const field of fields) {
    const { sent, since, unless } = field;
    const name = field.owner ?? field.name;
    const isNeeded = form === 'input' ? sent === 'required' : since === undefined;
    const isEither = form === 'input' && field.owner === null;
    if (isNeeded) needed.push({ name, unless: isEither ? unless : undefined });
    if (field.owner === null) {
      const nullable = field.nullable === true || (form === 'input' && since === 2);
      properties[name] = schemaOf({ ...field, nullable }, form);
    } else {
      const inner = fields.filter(({ owner }) => owner === name);
      const own = inner.map((each) => ({ ...each, owner: null }));
      properties[name] ??= objectOf(own, form);
    }
  }
  return objectSchema(properties, needed);
}

const titled = (title: string, schema: Schema): TSchema => Type.Unsafe({ ...schema, title });

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

/**
 * An event to record. Unknown fields are refused, not dropped. Limits of values that are cut or
 * dropped are not in its schema: docs/recording.md has them.
 */
export const EventInput = titled(
  'AuditEventInput',
  objectOf(
    eventFields.filter(({ sent }) => sent !== undefined),
    'input',
  ),
);

const stored = objectOf(eventFields, 'shown');
const erased = {
  type: 'array',
  items: { type: 'string', enum: [...withholdableSegments] },
  description:
    'Only where something was erased since: `identity` (e-mail, ip, user agent, resource name), ' +
    '`change` (diff, reason), `context` (what else describes the event), `state` (before, after). What the log proves of the event still holds.',
};

/** The single read, with both states. */
const full = { ...stored, properties: { ...stored.properties, erased } };
export const FullEvent = titled('AuditEvent', {
  ...full,
  description: 'The event, with its states.',
});

/** An event of a list; `before` and `after` only with `include=state`. */
export const ListedEvent = titled('ListedAuditEvent', {
  ...full,
  required: stored.required.filter((name) => name !== 'before' && name !== 'after'),
});

const warnings = Type.Array(Type.String(), {
  description: 'What was changed or missing; not stored.',
});

const warningPaths = {
  type: 'object',
  additionalProperties: { type: 'array', items: { type: 'string' } },
  description: 'By the code of each warning: JSON Pointers to what it is about, at most 20.',
};

const leafHash = {
  type: 'string',
  pattern: '^[0-9a-f]{64}$',
  description: 'RFC 6962 hash of the log entry.',
};

export const RecordedEvent = titled('RecordedAuditEvent', {
  ...full,
  required: [...stored.required, 'leafHash', 'warnings', 'warningPaths'],
  properties: { ...full.properties, leafHash, warnings, warningPaths },
});

export const FieldError = named('FieldProblem', {
  path: Type.String({ description: 'JSON Pointer, or the parameter.' }),
  code: Type.String(),
  message: Type.String(),
});

const rejection = named('Rejection', {
  code: Type.String(),
  detail: Type.String(),
  errors: Type.Optional(Type.Array(FieldError)),
});

export const BatchInput = named('EventBatch', {
  events: Type.Array(EventInput, { minItems: 1, maxItems: batchEventsMax }),
});

export const BatchResult = named('BatchResult', {
  index: Type.Integer({ description: 'Position in the batch, from 0.' }),
  status: Type.Enum(['created', 'duplicate', 'rejected']),
  id: Type.Optional(Type.Unsafe<string>(kinds.eventId)),
  sequence: Type.Optional(Type.Unsafe<number>(kinds.sequence)),
  warnings: Type.Optional(warnings),
  warningPaths: Type.Optional(Type.Unsafe<Record<string, string[]>>(warningPaths)),
  error: Type.Optional(rejection),
});

export const BatchResults = described(
  'BatchResults',
  'One result for each event, in their order.',
  { results: Type.Array(BatchResult) },
);
