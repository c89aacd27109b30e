import type { Static } from 'typebox';
import {
  described,
  exact,
  idWith,
  label,
  named,
  nullable,
  time,
  uuid,
} from '../http/field-schemas.ts';
import { filterSchema, storedFilters } from '../http/filter-schema.ts';
import { pageOf } from '../http/keyset-page.ts';
import { Type } from '../http/type.ts';

const lastPattern = '^[a-z0-9][a-z0-9_-]{0,31}$';
const aboutLast =
  'A relative time range of the panel, such as `7d`; only of filters without times of their own.';
const column = Type.String({ pattern: '^[A-Za-z][A-Za-z.]{0,63}$' });
const aboutColumns = "Columns of the panel's list, in this order.";
const name = label('What people call it.');
const shared = Type.Boolean({
  description: 'Whether each person of the tenant has it; otherwise only the person who made it.',
});

const ViewInput = named('ViewInput', {
  name,
  filters: filterSchema('EventFilters'),
  last: Type.Optional(nullable({ pattern: lastPattern, description: aboutLast })),
  columns: Type.Optional(
    Type.Unsafe<string[] | null>({
      type: ['array', 'null'],
      items: column,
      minItems: 1,
      maxItems: 40,
      uniqueItems: true,
      description: aboutColumns,
    }),
  ),
  shared,
});
export type ViewInput = Static<typeof ViewInput>;

const View = described('View', 'A search under a name: nothing of its answer is stored.', {
  id: idWith('view_'),
  url: Type.String({ description: 'The page that shows its events of today.' }),
  name,
  filters: storedFilters(),
  last: nullable({ pattern: lastPattern, description: aboutLast }),
  columns: Type.Unsafe<string[] | null>({
    type: ['array', 'null'],
    items: column,
    description: aboutColumns,
  }),
  shared,
  createdAt: time('When it was made.'),
  updatedAt: time('When it was last changed.'),
  createdBy: exact({ id: uuid('Who made it.'), email: nullable({}) }),
});

export const listViewsSchema = {
  operationId: 'listViews',
  summary: 'Live views, newest first',
  description: 'Those that the tenant shares, and your own.',
  response: { 200: pageOf('ViewPage', View, 'One page of views, newest first.') },
};

export const createViewSchema = {
  operationId: 'createView',
  'x-refuses': [409],
  summary: 'Keep a search under a name',
  description:
    'A live view is asked anew whenever it is opened; evidence (`/api/audit-logs/searches`) is frozen. A ' +
    'tenant has at most 200 shared views, and a person 100 of their own. Sharing is recorded.',
  body: ViewInput,
  response: { 201: View },
};

export const getViewSchema = {
  operationId: 'getView',
  summary: 'One view',
  description: 'Its events are those of the list with its filters.',
  response: { 200: View },
};

export const putViewSchema = {
  operationId: 'putView',
  summary: 'Change a view',
  description:
    'Each person of the tenant may change a shared view, which is recorded; only the person who made it may ' +
    'stop sharing it.',
  body: ViewInput,
  response: { 200: View },
};

export const deleteViewSchema = {
  operationId: 'deleteView',
  summary: 'Remove a view',
  description: 'Of a shared view this is recorded.',
  response: { 204: Type.Null({ description: 'It is removed.' }) },
};
