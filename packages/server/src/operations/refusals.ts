import { STATUS_CODES } from 'node:http';
import { errorCodes } from '@indelible/protocol';
import { BatchResult, FieldError } from '../events/schemas.ts';
import { answer, named } from '../http/field-schemas.ts';
import { Type } from '../http/type.ts';

/* How calls refuse, for the OpenAPI document. */

const Problem = named('Problem', {
  type: Type.String({ description: '`urn:indelible:error:` and the code.' }),
  title: Type.String({ description: 'The same for every answer with this code.' }),
  status: Type.Integer(),
  detail: Type.String({ description: 'What is wrong, with which value.' }),
  code: Type.Enum(Object.keys(errorCodes), { description: 'More may be added.' }),
  requestId: Type.String({ description: 'As in the header `X-Request-Id`.' }),
  errors: Type.Optional(Type.Array(FieldError, { description: 'Every field that is wrong.' })),
  results: Type.Optional(
    Type.Array(BatchResult, { description: 'Of a batch of which every event was refused.' }),
  ),
});

const problem = (description: string) => answer(description, ['application/problem+json', Problem]);
const retryAfter = { schema: Type.Integer(), description: 'Seconds to wait before the next try.' };
const statuses = [400, 401, 403, 404, 409, 410, 413, 415, 416, 422, 429, 503];
const isTemporary = (status: number) => status === 429 || status === 503;
const nameOf = (status: number) => STATUS_CODES[status]?.replaceAll(/\W/g, '') ?? '';

/** The components that `refusalsOf` refers to: a status with its codes, and any other. */
export const problems = {
  ...Object.fromEntries(
    statuses.map((status) => [
      nameOf(status),
      {
        ...problem(codesOf(status)),
        ...(isTemporary(status) && { headers: { 'Retry-After': retryAfter } }),
      },
    ]),
  ),
  Problem: problem('A problem document (RFC 9457): `status` and `code` say why.'),
};

function codesOf(status: number): string {
  const codes = Object.entries(errorCodes).filter(([, code]) => code.status === status);
  return codes.map(([code, { title }]) => `\`${code}\`: ${title}.`).join('\n');
}

/** A call; its route names the refusals that others do not give. */
export interface Refusing {
  security?: unknown[];
  'x-refuses'?: readonly number[];
}

export function refusalsOf(path: string, verb: string, call: Refusing) {
  const { security, 'x-refuses': own = [] } = call;
  const isPublic = security?.length === 0;
  const applying = [
    ...[400, 503, ...own],
    // An operator may name a tenant that does not exist.
    ...(isPublic ? [] : [401, 403, 404, 429]),
    ...(path.includes('{') ? [404] : []),
    ...(verb === 'get' || verb === 'delete' ? [] : [413, 415, 422]),
  ];
  const to = (name: string) => ({ $ref: `#/components/responses/${name}` });
  const byStatus = applying.map((status) => [status, to(nameOf(status))]);
  return { ...Object.fromEntries(byStatus), default: to('Problem') };
}
