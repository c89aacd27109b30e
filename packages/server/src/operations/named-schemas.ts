export type Json = Record<string, unknown>;

/**
 * The document with each schema that has a title as one of its components, defined once, and
 * references where it is used. Throws if two schemas share a title.
 */
export function namedOnce(document: Json): Json {
  const schemas: Record<string, Json> = {};
  const referring = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(referring);
    if (typeof value !== 'object' || value === null) return value;
    const schema = Object.fromEntries(Object.entries(value).map(([k, v]) => [k, referring(v)]));
    const { title } = schema;
    if (typeof title !== 'string') return schema;
    if (title in schemas && JSON.stringify(schemas[title]) !== JSON.stringify(schema))
      throw new Error(`two schemas are called ${title}`);
    schemas[title] = schema;
    return { $ref: `#/components/schemas/${title}` };
  };
  const { info, ...described } = document;
  const { components, ...rest } = referring(described) as { components: Json };
  return { info, ...rest, components: { ...components, schemas } };
}
