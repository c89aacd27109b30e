import { named, uuid } from '../http/field-schemas.ts';
import { Type } from '../http/type.ts';

/** The key that made a key or session, as answers show it. */
export const makerSchema = (description: string) =>
  Type.Union(
    [
      named('Maker', {
        kind: Type.Enum(['platform', 'tenant']),
        id: uuid('Of the key, as events name it.'),
      }),
      Type.Null(),
    ],
    { description },
  );
