import type { Type as TypeBox } from 'typebox';

/*
 * Builds JSON schemas that have the types of TypeBox. Its own builders come with a library of 373
 * files, which every start would load.
 */

type Schema = Record<string, unknown>;
type Members = Record<string, Schema>;

const optional = new WeakSet<Schema>();

const ofType = (type: string) => (options?: Schema) => ({ type, ...options });

/** A copy, which an object need not have. */
function optionally(schema: Schema): Schema {
  const copy = { ...schema };
  optional.add(copy);
  return copy;
}

function object(properties: Members, options?: Schema) {
  const required = Object.keys(properties).filter((name) => !optional.has(properties[name] ?? {}));
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
}

const entriesOf = ({ properties }: { properties: Members }) => Object.entries(properties);

const builders = {
  String: ofType('string'),
  Integer: ofType('integer'),
  Boolean: ofType('boolean'),
  Null: ofType('null'),
  Literal: (value: unknown, options?: Schema) => ({ type: typeof value, const: value, ...options }),
  Enum: (values: readonly string[], options?: Schema) => ({ enum: values, ...options }),
  Array: (items: Schema, options?: Schema) => ({ type: 'array', items, ...options }),
  Union: (anyOf: readonly Schema[], options?: Schema) => ({ anyOf, ...options }),
  Unsafe: (schema: Schema) => schema,
  Optional: optionally,
  Object: object,
  Record: (_text: Schema, value: Schema, options?: Schema) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  Partial: (whole: { properties: Members }, options?: Schema) => {
    const members = entriesOf(whole).map(([name, schema]) => [name, optionally(schema)]);
    return object(Object.fromEntries(members), options);
  },
  Omit: (whole: { properties: Members }, names: readonly string[], options?: Schema) => {
    const members = entriesOf(whole).filter(([name]) => !names.includes(name));
    return object(Object.fromEntries(members), options);
  },
};

export const Type = builders as unknown as Pick<typeof TypeBox, keyof typeof builders>;
