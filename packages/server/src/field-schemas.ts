import { Type } from 'typebox';

/* Parts of request and answer schemas that several features share. */

export const strict = { additionalProperties: false };

export const uuid = (description: string) => Type.String({ format: 'uuid', description });

export const time = (description: string) => Type.String({ format: 'date-time', description });

export const nullable = (options: Record<string, unknown>) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...options });

/** What people call something. The look-ahead, not a second loop, keeps matching linear. */
export const label = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: '^(?!\\s*$)[^\\p{Cc}\\p{Cs}]*$',
    description: `${description} Not blank, no control characters.`,
  });
