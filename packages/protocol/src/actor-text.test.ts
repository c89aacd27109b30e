import { expect, test } from 'vitest';
import { actorText, englishActors, type Party, partyName } from './actor-text.ts';

const textOf = (actor: Party, onBehalfOf?: Party[]) =>
  actorText(
    { actor, ...(onBehalfOf && { onBehalfOf: onBehalfOf as [] }) },
    englishActors,
    (party) => partyName(party) ?? `#${party.id}`,
  );

test('an actor is called by address, else by name, else by its own id', () => {
  expect(textOf({ email: 'ana@example.com', name: 'Ana' })).toBe('ana@example.com');
  expect(textOf({ email: null, name: 'Ana', externalId: 'user_1' })).toBe('Ana');
  expect(textOf({ externalId: 'user_1' })).toBe('user_1');
  expect(textOf({ id: '7' })).toBe('#7');
});

test('an actor that is no person is told by its kind, and all it acts for, nearest first', () => {
  const agent = { type: 'agent', name: 'Planner' } as const;
  expect(textOf(agent, [{ email: 'ana@example.com', type: 'user' }])).toBe(
    'assistant Planner for ana@example.com',
  );
  expect(textOf(agent, [{ type: 'service', name: 'Desk' }, { id: '9' }])).toBe(
    'assistant Planner for service Desk for #9',
  );
});
