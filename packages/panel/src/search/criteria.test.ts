import { filterToJson } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { searchOfCriteria } from './criteria.ts';

test('kept criteria are the search they were made of', () => {
  const facets = {
    action: { any: ['delete'], none: ['update'] },
    crossTenant: { any: ['true'], none: [] },
  };
  const filter = { ...facets, from: 1_000, to: 2_000 };
  const criteria = filterToJson(filter);
  expect(criteria).toEqual({
    from: '1970-01-01T00:00:01.000Z',
    to: '1970-01-01T00:00:02.000Z',
    action: ['delete', '!update'],
    crossTenant: ['true'],
  });
  expect(searchOfCriteria(criteria)).toMatchObject({
    facets,
    range: { kind: 'between', from: 1_000, to: 2_000 },
  });
});
