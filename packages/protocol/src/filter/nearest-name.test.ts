import { expect, test } from 'vitest';
import { listParamNames } from './list-query.ts';
import { nearestName, unknownNameMessage } from './nearest-name.ts';

test.each([
  ['actoin', 'action'],
  ['Action', 'action'],
  ['actions', 'action'],
  ['resourceId', 'resource_id'],
  ['resource_ids', 'resource_id'],
  ['resource-id', 'resource_id'],
  ['resource_type', 'resource'],
  ['crossTenant', 'cross_tenant'],
  ['afterSequence', 'after_sequence'],
  ['form', 'from'],
  ['usr', 'user'],
  ['limt', 'limit'],
])('%s was probably meant to be %s', (name, meant) => {
  expect(nearestName(name, listParamNames)).toBe(meant);
  expect(unknownNameMessage(name, listParamNames)).toContain(`did you mean ${meant}?`);
});

test('a name like no other is answered with all that are known', () => {
  for (const name of ['', 'x', '__proto__', 'zzzzzzzzzz', 'q'.repeat(10_000)]) {
    expect(nearestName(name, listParamNames)).toBeNull();
    expect(unknownNameMessage(name, ['from', 'to'])).toBe('is unknown here; known are from, to');
  }
});
