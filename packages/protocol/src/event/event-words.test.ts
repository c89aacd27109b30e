import { expect, test } from 'vitest';
import { canonicalize, type JsonValue } from '../json/canonical.ts';
import { contextTexts } from './context.ts';
import { eventWords, type SearchedFields } from './event-words.ts';

const searched = (fields: object, context: object = {}): SearchedFields => ({
  actorEmail: null,
  actorIp: null,
  resourceName: null,
  reason: null,
  diff: '{}',
  actorRole: '',
  action: '',
  resourceType: '',
  ...contextTexts(context),
  ...fields,
});

const diffOf = (diff: JsonValue) => canonicalize(diff);

test('an event has the words of its texts, and no others', () => {
  const words = eventWords(
    searched(
      {
        actorEmail: 'Ana@Example.com',
        actorIp: '203.0.113.7',
        reason: 'Ticket 4711',
        resourceName: 'Main menu',
        actorRole: 'Shift lead',
        action: 'menu.edited',
        resourceType: 'ivr_flow',
        diff: diffOf({
          'steps.0.greeting': { from: null, to: 'Hóla\n"you"' },
          max: { from: 3, to: true },
        }),
      },
      {
        actor: { name: 'Zoë', externalId: 'u_9', type: 'agent' },
        resource: { externalId: 'ivr-77' },
        correlationId: 'req-abc',
        traceId: 'f'.repeat(32),
        metadata: { region: 'north', count: 12, none: null },
        targets: [{ type: 'queue', externalId: 'q_1', name: 'Sales' }],
        onBehalfOf: [{ externalId: 'p_2', email: 'bo@acme.test', name: 'Bo' }],
        via: { channel: 'mcp', tool: 'set_greeting' },
      },
    ),
  );
  expect([...words].sort().join(' ')).toBe(
    [
      ...['0', '1', '113', '12', '2', '203', '203.0.113.7', '3', '4711', '7', '77', '9', 'abc'],
      ...['acme', 'ana', 'bo', 'com', 'count', 'edited', 'example', 'f'.repeat(32), 'flow'],
      ...['greeting', 'hola', 'ivr', 'lead', 'main', 'max', 'mcp', 'menu', 'none', 'north', 'p'],
      ...['q', 'queue', 'region', 'req', 'sales', 'set', 'shift', 'steps', 'test', 'ticket'],
      ...['true', 'u', 'you', 'zoe'],
    ].join(' '),
  );
});

test('a long value is searched up to 1,000 characters', () => {
  const to = `${'ab '.repeat(333)}z tail`;
  const words = eventWords(searched({ diff: diffOf({ text: { from: null, to } }) }));
  expect([...words]).toEqual(['text', 'ab', 'z']);
});
