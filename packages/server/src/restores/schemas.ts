import { Type } from 'typebox';
import { operatorHeaders } from '../access/index.ts';
import { idParams, nullable, PageQuery, pageOf, strict, time, uuid } from '../http/index.ts';

const Target = Type.Enum(['before', 'after'], {
  description: 'Which of the two states of the event.',
});

const RestoreInput = Type.Object({ to: Target }, { ...strict, title: 'RestoreInput' });

export const Restore = Type.Object(
  {
    id: Type.String({ pattern: '^rst_[0-9a-z]{26}$' }),
    status: Type.Enum(['requested', 'applied', 'refused', 'failed'], {
      description:
        '`applied` and `refused` are the answer of the host product; `failed`: there was no such answer.',
    }),
    reason: nullable({ description: 'Why it was refused or failed.' }),
    eventId: Type.String(),
    to: Target,
    requestedAt: time('When it was asked for.'),
    finishedAt: nullable({ format: 'date-time', description: 'Null while it is under way.' }),
  },
  { ...strict, title: 'Restore', description: 'The restore as it is now.' },
);

const tags = ['Restore'];

export const requestSchema = {
  tags,
  operationId: 'requestRestore',
  summary: 'Restore a former state',
  description:
    "Asks the host product, at the tenant's `restoreUrl`, to set the resource to a state of this event; " +
    'signed with the restore secret, tried up to four times. Answers within two seconds, with the outcome ' +
    'if there is one by then. Request and outcome are recorded. `409` without a restore URL, for a state ' +
    'that the event lacks or that holds masked values, and while the same restore is under way (`Location` ' +
    'leads to it).',
  params: idParams('`evt_audit_…`'),
  headers: operatorHeaders,
  body: RestoreInput,
  response: { 202: Restore },
};

export const getSchema = {
  tags,
  operationId: 'getRestore',
  summary: 'What became of a restore',
  description: 'For polling, until `status` is no longer `requested`.',
  params: idParams('`rst_…`'),
  headers: operatorHeaders,
  response: { 200: Restore },
};

export const listSchema = {
  tags,
  operationId: 'listRestores',
  summary: 'Restores, newest first',
  description: 'Of all resources, or of one.',
  querystring: Type.Object({
    ...PageQuery.properties,
    resource_id: Type.Optional(uuid('Of this resource alone.')),
  }),
  headers: operatorHeaders,
  response: { 200: pageOf('RestorePage', Restore, 'One page of restores, newest first.') },
};
