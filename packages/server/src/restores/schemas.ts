import {
  answer,
  described,
  exact,
  idWith,
  named,
  nullable,
  queryText,
  time,
  timeOrNull,
  uuid,
  uuidOrOwnId,
} from '../http/field-schemas.ts';
import { PageQuery, pageOf } from '../http/keyset-page.ts';
import { receivedCall } from '../http/received-call.ts';
import { Type } from '../http/type.ts';

const Target = Type.Enum(['before', 'after'], {
  description: 'Which of the two states of the event.',
});

const fieldsMax = 500;

const RestoreInput = named('RestoreInput', {
  to: Target,
  fields: Type.Optional(
    Type.Array(Type.String({ maxLength: 1024 }), {
      minItems: 1,
      maxItems: fieldsMax,
      uniqueItems: true,
      description: 'Only these members of the state; left out: all of it.',
    }),
  ),
});

export const Restore = described('Restore', 'The restore as it is now.', {
  id: idWith('rst_'),
  status: Type.Enum(['requested', 'applied', 'refused', 'failed'], {
    description:
      '`applied` and `refused` are the answer of the host product; `failed`: there was no such answer.',
  }),
  reason: nullable({ description: 'Why it was refused or failed.' }),
  eventId: Type.String(),
  to: Target,
  fields: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'The chosen members of the state; null: all of it.',
  }),
  requestedAt: time('When it was asked for.'),
  finishedAt: timeOrNull('Null while it is under way.'),
});

const tags = ['Restore'];

export const requestSchema = {
  operationId: 'requestRestore',
  'x-refuses': [409],
  summary: 'Restore a former state',
  description:
    "Asks the host product, at the tenant's `restoreUrl`, to set the resource to a state of this event; " +
    'signed with the restore secret, tried up to four times. Answers within two seconds, with the outcome ' +
    'if there is one by then. Request and outcome are recorded. `409` without a restore URL, for a state ' +
    'that the event lacks or that holds masked values, and while the same restore is under way (`Location` ' +
    'leads to it).',
  body: RestoreInput,
  response: { 202: Restore },
};

export const getSchema = {
  operationId: 'getRestore',
  summary: 'What became of a restore',
  description: 'For polling, until `status` is no longer `requested`.',
  response: { 200: Restore },
};

export const listSchema = {
  operationId: 'listRestores',
  summary: 'Restores, newest first',
  description: 'Of all resources, or of one.',
  querystring: Type.Object({
    ...PageQuery.properties,
    resource: Type.Optional(queryText('The resource type.')),
    resource_id: Type.Optional(
      uuidOrOwnId('Of this resource alone. An own id needs exactly one `resource`.'),
    ),
  }),
  response: { 200: pageOf('RestorePage', Restore, 'One page of restores, newest first.') },
};

const state = (description: string) =>
  Type.Unsafe<object | null>({ type: ['object', 'null'], description });

const Agents = Type.Array(
  named('Agent', {
    id: uuid('As in events.'),
    externalId: Type.Optional(Type.String()),
    name: Type.Optional(Type.String()),
  }),
  { description: "Asked with the person's token, nearest first; absent if the person asked." },
);

const RestoreRequested = named('RestoreRequested', {
  type: Type.Literal('audit.restore.requested'),
  id: idWith('rst_', 'The same at every attempt.'),
  tenantId: uuid('Whose log the event is in.'),
  eventId: Type.String(),
  resource: exact({
    type: Type.String(),
    id: uuid('The resource.'),
    externalId: Type.Optional(
      Type.String({ description: 'Your own id of it, if the event has one.' }),
    ),
    name: nullable({}),
  }),
  to: Target,
  requestedBy: exact(
    {
      id: uuid('Who asked for it.'),
      externalId: Type.Optional(
        Type.String({ description: 'Your own id, if you named the person by one.' }),
      ),
      email: nullable({}),
      role: Type.String(),
      agents: Type.Optional(Agents),
    },
    'Check the rights of this person or program in your product.',
  ),
  recordedBy: exact(
    { kind: Type.Enum(['api_key', 'service']), id: uuid('Of the API key.') },
    'Apply only states that your own key recorded.',
  ),
  requestedAt: time('When it was asked for.'),
  before: Type.Optional(state("The event's state before the change; absent with `fields`.")),
  after: Type.Optional(state("The event's state after the change; absent with `fields`.")),
  fields: Type.Optional(
    Type.Object({}, { additionalProperties: true, description: 'Set only these members.' }),
  ),
  current: Type.Optional(state('The last recorded state; `null`: deleted; absent: unknown.')),
});

const RestoreAnswer = Type.Union(
  [
    Type.Object({ status: Type.Literal('applied') }),
    Type.Object({ status: Type.Literal('refused'), reason: Type.String() }),
  ],
  { title: 'RestoreAnswer', description: 'Within ten seconds.' },
);

/** What a host product receives at its `restoreUrl`. */
export const restoreMessages = {
  'audit.restore.requested': receivedCall({
    tags,
    operationId: 'receiveRestore',
    summary: 'A request to restore a former state',
    description:
      'Signed with the restore secret. It may come twice: keep your answer under `id`, and give it again.',
    message: RestoreRequested,
    responses: {
      '200': answer('What the host product did.', ['application/json', RestoreAnswer]),
      '429': { description: 'The service calls again, up to four times in all; also after a 5xx.' },
      default: { description: 'The restore has failed.' },
    },
  }),
};
