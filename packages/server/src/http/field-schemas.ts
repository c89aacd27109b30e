import {
  emailLengthMax,
  externalIdLengthMax,
  paramLengthMax,
  reasonLength,
  reasonLengthMax,
} from '@indelible/protocol';
import type { TProperties, TSchema } from 'typebox';
import { Type } from './type.ts';

/*
 * Schema parts that several features share. A schema with a `title` is one of the named schemas of
 * the OpenAPI document, defined there once.
 */

export const strict = { additionalProperties: false };

/** An object that has these members and no others. */
export const exact = <Members extends TProperties>(members: Members, description?: string) =>
  Type.Object(members, { ...strict, ...(description && { description }) });

/** Such an object as a named schema. */
export const named = <Members extends TProperties>(title: string, members: Members) =>
  Type.Object(members, { ...strict, title });

/** Such an object as a named schema with a description. */
export const described = <Members extends TProperties>(
  title: string,
  description: string,
  members: Members,
) => Type.Object(members, { ...strict, title, description });

export const uuid = (description?: string) =>
  Type.String({ format: 'uuid', ...(description && { description }) });

const hostId = { format: 'external-id', minLength: 1, maxLength: externalIdLengthMax };

/** The UUID of something of the host product, or the host's own id for it. */
export const uuidOrOwnId = (description: string) =>
  Type.String({ ...hostId, description: `${description} Its UUID, or your own id.` });

export const ownId = (description: string) => nullable({ ...hostId, description });

/** An id such as `whk_…`, as `typeId` writes it. */
export const idWith = (prefix: string, description?: string) =>
  Type.String({ pattern: `^${prefix}[0-9a-z]{26}$`, ...(description && { description }) });

/** A number of things, or a position: 0 and above. */
export const count = (description: string) => Type.Integer({ minimum: 0, description });

export const countOrNull = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 0, description });

export const time = (description: string) => Type.String({ format: 'date-time', description });

export const timeOrNull = (description: string) => nullable({ format: 'date-time', description });

export const nullable = (options: Record<string, unknown>) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...options });

/** Recipients of mail. */
export const emails = (description: string) =>
  Type.Array(Type.String({ format: 'mail-address', maxLength: emailLengthMax }), {
    maxItems: 20,
    uniqueItems: true,
    description,
  });

/** An operator's reason in a body; white space around it is cut off. */
export const reason = (description: string) =>
  nullable({ maxLength: 2 * reasonLengthMax, description: `${description}; ${reasonLength}.` });

/** A text in a query; `readParams` refuses a longer one. */
export const queryText = (description: string) =>
  Type.String({ maxLength: paramLengthMax, description });

/** An answer that the schema of its body does not describe: another sentence, or not JSON. */
export const answer = (description: string, ...schemas: [type: string, schema: TSchema][]) => ({
  description,
  content: Object.fromEntries(schemas.map(([type, schema]) => [type, { schema }])),
});

export const pathPartLengthMax = 200;
export const pathPart = (description: string) =>
  Type.String({ maxLength: pathPartLengthMax, description });

/** The path of a call with one id. */
export const idParams = (description: string) => Type.Object({ id: pathPart(description) });

/** The path of a call to one log by its origin. */
export const LogParams = Type.Object({
  logId: Type.String({
    pattern: '^[0-9a-f]{32}$',
    description: "What the log's origin ends in, 32 hexadecimal digits.",
  }),
});

/** A display name. The look-ahead, instead of a second loop, keeps matching linear. */
export const label = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: '^(?!\\s*$)[^\\p{Cc}\\p{Cs}]*$',
    description: `${description} Not blank, no control characters.`,
  });
