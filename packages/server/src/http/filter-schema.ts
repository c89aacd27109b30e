import { Type } from 'typebox';

// Without types: `parseFilterBody`, which the panel shares, names every problem itself.
const member = (description: string) => ({ description });

/** The list's filters in the body of a call; `more` is said of them in the OpenAPI document. */
export const filterSchema = (more = '') =>
  Type.Unsafe<object>({
    type: 'object',
    description:
      "The list's filters in camelCase, each a value or an array of up to 20; a leading `!` excludes." +
      more,
    properties: {
      from: member('First moment, ISO 8601.'),
      to: member('First moment that is out again.'),
      user: member('Actor ids, or e-mail addresses in any case.'),
      action: member('Actions.'),
      resource: member('Resource types.'),
      resourceId: member('Resource ids.'),
      crossTenant: member('`true` or `false`.'),
      category: member('Categories.'),
    },
  });
