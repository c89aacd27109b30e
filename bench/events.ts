import { randomUUID } from 'node:crypto';

/**
 * Believable contact-centre events, about 700 bytes
 * each, of one of a few hundred people and things.
 */
const people = Array.from({ length: 300 }, (_, i) => ({
  id: randomUUID(),
  email: `agent${i}@example.com`,
}));
const things = Array.from({ length: 2_000 }, (_, i) => ({ id: randomUUID(), name: `Queue ${i}` }));
const kinds = [
  ['update', 'queue'],
  ['update', 'agent'],
  ['access', 'recording'],
  ['create', 'did'],
  ['login', 'session'],
  ['publish', 'integration'],
  ['push', 'crm'],
] as const;

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;

export function benchEvent(tenantId: string): object {
  const [action, type] = pick(kinds);
  const person = pick(people);
  const thing = pick(things);
  return {
    tenantId,
    actor: {
      ...person,
      role: 'admin',
      ip: '203.0.113.7',
      userAgent:
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0',
    },
    action,
    resource: { type, ...thing },
    diff: {
      maxWaitSeconds: { from: 30, to: 60 },
      overflowQueue: { from: null, to: 'Second level' },
      announcement: { from: 'Please hold the line', to: 'Your call matters to us' },
    },
  };
}
