import { emailLengthMax, reasonLengthMax } from '@indelible/protocol';
import { Type } from 'typebox';

/**
 * Headers of every call that reads a tenant's data; operators and platform-bound keys need them.
 */
export const operatorHeaders = Type.Object({
  'x-tenant-id': Type.Optional(
    Type.String({ format: 'uuid', description: 'Operators: whose data.' }),
  ),
  'x-access-reason': Type.Optional(
    Type.String({
      maxLength: 12 * reasonLengthMax, // a character takes four bytes, each as %F0
      description: 'Operators: why, percent-encoded UTF-8, 1-1,000 characters. The tenant sees it.',
    }),
  ),
  'x-operator-email': Type.Optional(
    Type.String({ maxLength: emailLengthMax, description: 'Platform keys: who is looking.' }),
  ),
});

/** Headers of the calls by which the platform changes a tenant, whose path names it. */
export const administratorHeaders = Type.Omit(operatorHeaders, ['x-tenant-id']);
