import { hash, randomBytes } from 'node:crypto';
import { commitmentOf, saltBytes, segmentTexts } from '@indelible/protocol';
import { textArbitrary } from '@indelible/testing/arbitraries';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventJson, openersOf, prepare, sameContent } from './prepared-event.ts';

const sha = (data: Uint8Array) => new Uint8Array(hash('sha256', data, 'buffer'));
const random = (bytes: number) => new Uint8Array(randomBytes(bytes));

const salted = Buffer.from('audit-salt/v1\n');

const columns = {
  tenantId: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
  uuid: '01990f04-d97b-7abc-8def-0123456789ab',
  actorId: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a',
  actorEmail: 'Ana@Example.COM',
  actorRole: 'admin',
  actorIp: '203.0.113.7',
  actorUserAgent: 'Mozilla/5.0',
  action: 'update',
  resourceType: 'queue',
  resourceId: '11111111-2222-3333-4444-555555555555',
  resourceName: 'Support',
  diff: '{"maxWait":{"from":30,"to":60}}',
  crossTenant: false,
  reason: null,
  category: 'configuration',
  recordedByKind: 'api_key',
  recordedById: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11',
  before: null,
  after: null,
  context: null,
  contextIdentity: null,
};

test('a prepared event has a salt for each segment and commits to its own columns', () => {
  for (const [states, segments] of [
    [{}, 3],
    [{ after: '{}' }, 4],
    [{ before: '{}' }, 4],
    [{ context: '{}' }, 4],
    [{ context: '{}', contextIdentity: '{}', before: '{}' }, 5],
  ] as const) {
    const event = prepare({ ...columns, ...states }, sha, random);
    expect(event.salts.length).toBe(segments * saltBytes);
    expect(event.commitment).toEqual(commitmentOf(sha, segmentTexts(event), event.salts));
    const { salts } = openersOf({ ...event, erased: null });
    const change = salts[0] ?? new Uint8Array();
    expect(salts[2]).toEqual(sha(Buffer.concat([salted, change])).subarray(0, saltBytes));
  }
});

test('the same event prepared twice has two commitments: equal events cannot be told apart by hash', () => {
  const [one, other] = [prepare(columns, sha, random), prepare(columns, sha, random)];
  expect(one.texts).toEqual(other.texts);
  expect(one.commitment).not.toEqual(other.commitment);
});

test('the size counted for the queue is never below what the texts take in memory', () => {
  const after = JSON.stringify({ a: '😀'.repeat(10_000) });
  const event = prepare({ ...columns, after }, sha, random);
  expect(event.bytes).toBeGreaterThanOrEqual(2 * after.length);
});

test('a retry is the same content by any recorder and whatever category the word has by now', () => {
  const sent = prepare(columns, sha, random);
  expect(sameContent(sent, columns)).toBe(true);
  const since = {
    category: 'security',
    recordedByKind: 'service',
    recordedById: '99999999-2222-3333-4444-555555555555',
  };
  expect(sameContent(sent, { ...columns, ...since })).toBe(true);
  // It follows from other columns, and former builds did not look at the people acted for.
  expect(sameContent(sent, { ...columns, crossTenant: true })).toBe(true);
});

test('a difference in any other column is other content', () => {
  const sent = prepare(columns, sha, random);
  const others: Partial<typeof sent>[] = [
    { actorId: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6b' },
    { actorEmail: 'ana@example.com' },
    { actorRole: 'superadmin' },
    { actorIp: null },
    { actorUserAgent: null },
    { action: 'delete' },
    { resourceType: 'ivr' },
    { resourceId: '11111111-2222-3333-4444-555555555556' },
    { resourceName: null },
    { diff: '{}' },
    { reason: 'because' },
    { before: '{}' },
    { after: '{}' },
    { context: '{}' },
    { contextIdentity: '{"actor":{"name":"Ana"}}' },
  ];
  for (const other of others) {
    expect(sameContent(sent, { ...columns, ...other }), JSON.stringify(other)).toBe(false);
  }
});

const logged = { sequence: 7, receivedAtMs: Date.UTC(2025, 8, 3, 10), salts: new Uint8Array(48) };

test('the JSON of an event parses to its fields, whatever its texts hold', () => {
  const text = textArbitrary(60);
  fc.assert(
    fc.property(text, text, text, text, text, (email, role, agent, name, reason) => {
      const event = {
        ...columns,
        actorEmail: email,
        actorRole: role,
        actorUserAgent: agent,
        resourceName: name,
        reason,
      };
      const shown = JSON.parse(eventJson({ ...event, ...logged }, false, false));
      expect(shown.actor).toEqual({
        id: columns.actorId,
        email,
        role,
        ip: columns.actorIp,
        userAgent: agent,
      });
      expect(shown.resource.name).toBe(name);
      expect(shown.reason).toBe(reason);
    }),
  );
});

test('diff and states are shown as the very texts that were hashed', () => {
  const diff = '{"a":{"from":1e-7,"to":"\u2028"}}';
  const [before, after] = ['{"z":1,"__proto__":2}', '{"n":0.1}'];
  const json = eventJson({ ...columns, diff, before, after, ...logged }, true, true);
  expect(json).toContain(`"diff":${diff},`);
  expect(json).toContain(`"before":${before},"after":${after},`);
});

test('states are shown only when asked for, but always announced', () => {
  const event = { ...columns, after: '{"a":1}', ...logged };
  const listed = JSON.parse(eventJson(event, false, true));
  expect(listed).not.toHaveProperty('before');
  expect(listed).not.toHaveProperty('after');
  expect(listed.hasState).toBe(true);
  expect(JSON.parse(eventJson(event, true, true))).toMatchObject({ before: null, after: { a: 1 } });
});
