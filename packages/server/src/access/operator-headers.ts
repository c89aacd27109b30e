import { emailLengthMax, reasonLength, reasonLengthMax } from '@indelible/protocol';
import { Type } from '../http/type.ts';

/** Headers of calls that read a tenant's data; required for operators and platform-bound keys. */
export const operatorHeaders = Type.Object({
  'x-tenant-id': Type.Optional(
    Type.String({ format: 'uuid', description: 'Operators: whose data.' }),
  ),
  'x-access-reason': Type.Optional(
    Type.String({
      maxLength: 12 * reasonLengthMax, // a character takes four bytes, each as %F0
      description: `Operators: why, percent-encoded UTF-8, ${reasonLength}. The tenant sees it.`,
    }),
  ),
  'x-operator-email': Type.Optional(
    Type.String({ maxLength: emailLengthMax, description: 'Platform keys: who is looking.' }),
  ),
});

/** Headers of platform calls that change the tenant in their path. */
export const administratorHeaders = Type.Omit(operatorHeaders, ['x-tenant-id']);
