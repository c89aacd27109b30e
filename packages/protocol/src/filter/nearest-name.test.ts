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
  ['actor', 'user'],
  ['email', 'user'],
  ['role', 'q'],
  ['since', 'from'],
  ['until', 'to'],
])('%s was probably meant to be %s', (name, meant) => {
  expect(nearestName(name, listParamNames)).toBe(meant);
  const message = unknownNameMessage('filter', name, listParamNames);
  expect(message).toBe(
    `unknown filter '${name}'; did you mean '${meant}'? known filters: ${listParamNames.join(', ')}`,
  );
});

test('a name like no other is answered with all that are known', () => {
  for (const name of ['', 'x', '__proto__', 'zzzzzzzzzz']) {
    expect(nearestName(name, listParamNames)).toBeNull();
    const message = `unknown filter '${name}'; known filters: from, to`;
    expect(unknownNameMessage('filter', name, ['from', 'to'])).toBe(message);
  }
  expect(unknownNameMessage('filter', 'q'.repeat(10_000), ['from']).length).toBeLessThan(120);
});
