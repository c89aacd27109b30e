import type { AuditEvent } from '@indelible/client';
import { expect, test } from 'vitest';
import { eventLine } from './commands/tail.ts';

const event: AuditEvent = {
  id: 'evt_audit_01k48fq5zv0000000000000000',
  timestamp: '2025-09-03T10:00:00.123Z',
  tenantId: '6da45ac7-5db6-56fb-8c55-847471cb240c',
  actor: {
    id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a',
    email: 'ana@example.com',
    role: 'admin',
    ip: null,
    userAgent: null,
  },
  action: 'update',
  resource: { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11', name: 'Support' },
  diff: { maxWait: { from: 30, to: 60 }, open: { from: null, to: true } },
  crossTenant: false,
  reason: null,
  category: 'configuration',
  hasState: false,
  sequence: 12,
  receivedAt: '2025-09-03T10:00:00.200Z',
  recordedBy: { kind: 'api_key', id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a' },
};

test('a line says when, where in the log, who, what and the first change', () => {
  expect(eventLine(event)).toBe(
    '2025-09-03T10:00:00.123Z  #12  ana@example.com (admin)  update queue "Support"  ' +
      'maxWait: 30 → 60 (+1 more)',
  );
});

test('an actor without e-mail and a resource without name are shown by their ids', () => {
  const bare = {
    ...event,
    actor: { ...event.actor, email: null },
    resource: { ...event.resource, name: null },
    diff: {},
  };
  expect(eventLine(bare)).toBe(
    `2025-09-03T10:00:00.123Z  #12  ${event.actor.id} (admin)  update queue ${event.resource.id}`,
  );
});

test('a line says that an assistant acted, for whom, and with which outcome', () => {
  const actor = { ...event.actor, email: null, type: 'agent', name: 'Planner' } as const;
  const onBehalfOf = [{ id: event.actor.id, email: 'ana@example.com', role: 'admin' }];
  const denied = { ...event, actor, onBehalfOf, outcome: 'denied', diff: {} } as const;
  expect(eventLine(denied)).toMatch(
    / {2}assistant Planner \(admin\) for ana@example.com \(admin\) {2}update queue "Support" {2}\[denied\]$/,
  );
  expect(eventLine({ ...event, action: 'login_failed' })).toContain('[failure]');
  expect(eventLine(event)).not.toContain('[');
});

test('an operator event shows its reason, or that none was declared', () => {
  expect(eventLine({ ...event, crossTenant: true, reason: 'ticket 12' })).toMatch(
    /\[reason: ticket 12\]$/,
  );
  expect(eventLine({ ...event, crossTenant: true })).toMatch(/\[no reason declared\]$/);
});

test('names and values from an event can neither add a line nor reach the terminal as controls', () => {
  const hostile = '\u001b]0;owned\u0007\n2025-01-01  #1  root';
  const line = eventLine({
    ...event,
    actor: { ...event.actor, role: hostile, email: hostile },
    onBehalfOf: [{ name: hostile, role: hostile }],
    resource: { ...event.resource, name: hostile },
    diff: { [hostile]: { from: hostile, to: null } },
    crossTenant: true,
    reason: hostile,
  });
  expect(line).not.toMatch(/\p{Cc}/u);
});
