import { categories, type Diff } from '@indelible/protocol';
import { Type } from 'typebox';
import { nullable, strict, time, uuid } from '../http/field-schemas.ts';

/*
 * The shapes of an audit event, once: they validate what comes in, generate the OpenAPI document,
 * and
 * check every answer in the tests. */

const word = '^[a-z][a-z0-9]*(_[a-z0-9]+)*$';
const snakeCase = (description: string, examples: string[]) =>
  Type.String({ pattern: word, maxLength: 64, description, examples });

export const limits = {
  eventBytesMax: 600 * 1024,
  batchBytesMax: 8 * 2 ** 20,
  batchEventsMax: 1_000,
  stateBytesMax: 256 * 1024,
  diffFieldsMax: 500,
  diffStringBytesMax: 32 * 1024,
  userAgentMax: 1_024,
  futureMsMax: 5 * 60_000,
} as const;

const actorFields = {
  id: uuid('Who acted; the nil UUID for an unauthenticated actor.'),
  email: nullable({ format: 'email', maxLength: 320 }),
  role: Type.String({
    // Neither line breaks nor invisible characters: a role that looks like another must not pass
    // for it.
    pattern: '^[^\\s\\p{Cc}\\p{Cf}]+$',
    minLength: 1,
    maxLength: 64,
    examples: ['admin', 'superadmin'],
  }),
  ip: nullable({
    format: 'ip',
    maxLength: 64,
    description: 'IPv4 or IPv6, stored canonically (RFC 5952).',
  }),
  userAgent: nullable({ description: 'Cut at 1,024 characters, with warning `truncated`.' }),
};
const resourceFields = {
  type: snakeCase('What kind of thing was acted on.', ['queue', 'ivr', 'recording']),
  id: uuid('Which one.'),
  name: nullable({ maxLength: 200, description: 'A label people recognise.' }),
};
const scalar = Type.Unsafe<string | number | boolean | null>({
  type: ['string', 'number', 'boolean', 'null'],
});
// Not Type.Record: its pattern does not match a name with a line break, whose value would go
// unchecked.
const diff = Type.Unsafe<Diff>({
  type: 'object',
  additionalProperties: Type.Object({ from: scalar, to: scalar }, strict),
  maxProperties: limits.diffFieldsMax,
  description: 'Field by field: `{field: {from, to}}`.',
});
const state = (description: string) =>
  Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'], description });

const example = {
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

/** What a producer sends. Unknown fields are refused, not dropped. */
export const EventInput = Type.Object(
  {
    id: Type.Optional(
      Type.String({
        pattern: '^evt_audit_[0-7][0-9a-hjkmnp-tv-z]{25}$',
        description:
          'TypeID of a UUIDv7 whose millisecond is `timestamp`. Send it to make retries safe.',
      }),
    ),
    timestamp: Type.Optional(time('Moment of the action; taken from `id`, else now.')),
    tenantId: Type.Optional(uuid('May be omitted by a credential that is bound to one tenant.')),
    actor: Type.Object(
      {
        id: actorFields.id,
        email: Type.Optional(actorFields.email),
        role: actorFields.role,
        ip: Type.Optional(actorFields.ip),
        userAgent: Type.Optional(actorFields.userAgent),
      },
      strict,
    ),
    action: snakeCase('What was done.', ['create', 'update', 'delete', 'access']),
    resource: Type.Object(
      {
        type: resourceFields.type,
        id: resourceFields.id,
        name: Type.Optional(resourceFields.name),
      },
      strict,
    ),
    diff: Type.Optional(diff),
    crossTenant: Type.Optional(
      Type.Boolean({ description: 'Set by the server from `actor.role`.' }),
    ),
    reason: Type.Optional(
      nullable({ maxLength: 1_000, description: "The operator's declared reason." }),
    ),
    before: Type.Optional(state('Complete state before the change, at most 256 KiB.')),
    after: Type.Optional(state('Complete state after the change, at most 256 KiB.')),
  },
  { ...strict, $id: 'AuditEventInput', title: 'AuditEventInput', examples: [example] },
);

const eventFields = {
  id: Type.String({ pattern: '^evt_audit_[0-7][0-9a-hjkmnp-tv-z]{25}$' }),
  timestamp: time('Moment of the action.'),
  tenantId: uuid(),
  actor: Type.Object(actorFields, strict),
  action: snakeCase('What was done.', []),
  resource: Type.Object(resourceFields, strict),
  diff,
  crossTenant: Type.Boolean(),
  reason: nullable({}),
  category: Type.Enum([...categories]),
  hasState: Type.Boolean({ description: 'Whether `before` or `after` is stored.' }),
  sequence: Type.Integer({
    minimum: 0,
    description: "Position in the tenant's log, without gaps.",
  }),
  receivedAt: time('When the service took it.'),
  recordedBy: Type.Object({ kind: Type.Enum(['api_key', 'service']), id: uuid() }, strict),
  erased: Type.Optional(
    Type.Array(Type.Enum(['change', 'identity', 'state']), {
      description:
        'Only where something was erased since: `identity` (e-mail, ip, user agent, resource name), ' +
        '`change` (diff, reason), `state` (before, after). What the log proves of the event still holds.',
    }),
  ),
};
const states = { before: state('State before.'), after: state('State after.') };

/** An event of a list; `before` and `after` only with `include=state`. */
export const ListedEvent = Type.Object(
  { ...eventFields, before: Type.Optional(states.before), after: Type.Optional(states.after) },
  { ...strict, $id: 'ListedAuditEvent', title: 'ListedAuditEvent' },
);

/** The single read: with both states. */
export const FullEvent = Type.Object(
  { ...eventFields, ...states },
  { ...strict, $id: 'AuditEvent', title: 'AuditEvent' },
);

const warnings = Type.Array(Type.String(), {
  description: 'What was changed or missing; not stored.',
});

export const RecordedEvent = Type.Object(
  {
    ...eventFields,
    ...states,
    leafHash: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'RFC 6962 hash of the log entry.',
    }),
    warnings,
  },
  { ...strict, $id: 'RecordedAuditEvent', title: 'RecordedAuditEvent' },
);

export const FieldError = Type.Object(
  {
    path: Type.String({ description: 'JSON Pointer, or the parameter.' }),
    code: Type.String(),
    message: Type.String(),
  },
  strict,
);

const rejection = Type.Object(
  { code: Type.String(), detail: Type.String(), errors: Type.Optional(Type.Array(FieldError)) },
  strict,
);

export const BatchInput = Type.Object(
  {
    events: Type.Array(Type.Unsafe<unknown>(Type.Ref('AuditEventInput')), {
      minItems: 1,
      maxItems: limits.batchEventsMax,
    }),
  },
  strict,
);

export const BatchResults = Type.Object(
  {
    results: Type.Array(
      Type.Object(
        {
          index: Type.Integer(),
          status: Type.Enum(['created', 'duplicate', 'rejected']),
          id: Type.Optional(eventFields.id),
          sequence: Type.Optional(eventFields.sequence),
          warnings: Type.Optional(warnings),
          error: Type.Optional(rejection),
        },
        strict,
      ),
    ),
  },
  strict,
);
