import { Type } from 'typebox';
import { strict, uuid } from '../http/index.ts';

/** The key that made a key or session, as answers show it. */
export const makerSchema = (description: string) =>
  Type.Union(
    [
      Type.Object(
        { kind: Type.Enum(['platform', 'tenant']), id: uuid('Of the key, as events name it.') },
        { ...strict, title: 'Maker' },
      ),
      Type.Null(),
    ],
    { description },
  );
