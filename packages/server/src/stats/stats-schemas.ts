import { countedFacets, facetOf, groupKeys, paramLengthMax, timeUnits } from '@indelible/protocol';
import { operatorHeaders } from '../access/operator-access.ts';
import { described, named, nullable } from '../http/field-schemas.ts';
import { filterParams } from '../http/filter-schema.ts';
import { Type } from '../http/type.ts';

/* Parameters and answer of the counting call; `parseStatsQuery` checks the parameters. */

const statsQuerystring = Type.Object({
  ...filterParams,
  group_by: Type.Array(Type.Enum([...groupKeys]), {
    minItems: 1,
    maxItems: 2,
    description: 'One or two keys, at most one of them a time.',
  }),
  time_zone: Type.Optional(
    Type.String({
      default: 'UTC',
      maxLength: paramLengthMax,
      description: 'IANA name: where days begin.',
    }),
  ),
});

const groups = [
  ...timeUnits.map((unit) => [unit, Type.Optional(Type.String({ format: 'date-time' }))] as const),
  ...countedFacets.map((facet) => {
    const { columns, nullable: mayLack } = facetOf(facet);
    if (mayLack) return [facet, Type.Optional(nullable({}))] as const;
    const format = columns.uuid === undefined ? {} : { format: 'uuid' };
    return [facet, Type.Optional(Type.String(format))] as const;
  }),
];

const EventGroup = named('EventGroup', {
  ...Object.fromEntries(groups),
  email: Type.Optional(nullable({})),
  count: Type.Integer({ minimum: 1 }),
});

const EventStats = described('EventStats', 'The groups, and the number of all events.', {
  data: Type.Array(EventGroup),
  total: Type.Integer({ minimum: 0 }),
});

const tags = ['Events'];

export const statsSchema = {
  tags,
  operationId: 'countEvents',
  summary: 'Count events by one or two keys',
  description:
    'Without a range: the last 30 days. At most 10,000 groups, in a range of at most 65,000 minutes, hours ' +
    'or days.',
  querystring: statsQuerystring,
  headers: operatorHeaders,
  response: { 200: EventStats },
};
