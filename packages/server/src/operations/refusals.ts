import { STATUS_CODES } from 'node:http';
import { errorCodes } from '@indelible/protocol';
import { Type } from 'typebox';
import { FieldError } from '../events/index.ts';
import { answer, strict } from '../http/index.ts';

/* How calls refuse, for the OpenAPI document. */

const Problem = Type.Object(
  {
    type: Type.String({ description: '`urn:indelible:error:` and the code.' }),
    title: Type.String({ description: 'The same for every answer with this code.' }),
    status: Type.Integer(),
    detail: Type.String({ description: 'What is wrong, with which value.' }),
    code: Type.Enum(Object.keys(errorCodes), { description: 'More may be added.' }),
    requestId: Type.String({ description: 'As in the header `X-Request-Id`.' }),
    errors: Type.Optional(Type.Array(FieldError, { description: 'Every field that is wrong.' })),
  },
  { ...strict, title: 'Problem' },
);

const problem = (description: string) => answer(description, ['application/problem+json', Problem]);
const statuses = [400, 401, 403, 404, 413, 415, 422] as const;
const nameOf = (status: number) => STATUS_CODES[status]?.replaceAll(/\W/g, '') ?? '';

/** The components that `refusalsOf` refers to: a status with its codes, and any other. */
export const problems = {
  ...Object.fromEntries(statuses.map((status) => [nameOf(status), problem(codesOf(status))])),
  Problem: {
    ...problem('A problem document (RFC 9457): `status` and `code` say why.'),
    headers: {
      'Retry-After': { schema: Type.Integer(), description: 'Seconds, with 429 and 503.' },
    },
  },
};

function codesOf(status: number): string {
  const codes = Object.entries(errorCodes).filter(([, code]) => code.status === status);
  return codes.map(([code, { title }]) => `\`${code}\`: ${title}.`).join('\n');
}

/** The refusals of a call, by what it takes. */
export function refusalsOf(path: string, call: { security?: unknown[]; requestBody?: unknown }) {
  const isPublic = call.security?.length === 0;
  const applying: readonly number[] = [
    ...[400, ...(isPublic ? [] : [401, 403]), ...(path.includes('{') ? [404] : [])],
    ...(call.requestBody === undefined ? [] : [413, 415, 422]),
  ];
  const to = (name: string) => ({ $ref: `#/components/responses/${name}` });
  const byStatus = applying.map((status) => [status, to(nameOf(status))]);
  return { ...Object.fromEntries(byStatus), default: to('Problem') };
}
