import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventIdFromUuid, eventUuid } from '../../../protocol/src/index.ts';
import { takeEvent } from '../../../server/src/events/take-event.ts';
import { eventArbitrary, spoiltEventArbitrary } from '../../../server/src/testing/arbitraries.ts';
import { eventOf } from '../../../server/src/testing/service.ts';
import { boundTenantId, nowMs, takeContext } from '../../../server/src/testing/take-context.ts';
import { judgeEvent } from './judge-event.ts';

/* The capture's judgement, held against the service's own code. */

const sorted = (errors: readonly { path: string; code: string }[] = []) =>
  errors.map(({ path, code }) => `${path} ${code}`).sort();

/** What both say of an event, in the same words. */
function judgements(sent: unknown, tenantId: string | null = boundTenantId) {
  const json = JSON.parse(JSON.stringify(sent));
  const theirs = takeEvent(json, takeContext({ boundTenantId: tenantId }));
  const ours = judgeEvent(sent, { nowMs, boundTenantId: tenantId });
  return { theirs: serviceWords(theirs), ours: captureWords(ours) };
}

function serviceWords(taken: ReturnType<typeof takeEvent>) {
  if (taken.refusal) return { code: taken.refusal.code, errors: sorted(taken.refusal.errors) };
  const { event, warnings } = taken;
  const parsed = (text: string | null) => (text === null ? null : JSON.parse(text));
  return {
    tenantId: event.tenantId,
    actor: [event.actorId, event.actorEmail, event.actorRole, event.actorIp, event.actorUserAgent],
    what: [event.action, event.resourceType, event.resourceId, event.resourceName],
    diff: parsed(event.diff),
    states: [parsed(event.before), parsed(event.after)],
    rest: [event.crossTenant, event.reason, event.category],
    warnings: [...warnings].sort(),
  };
}

function captureWords(judged: ReturnType<typeof judgeEvent>) {
  if (judged.refusal) return { code: judged.refusal.code, errors: sorted(judged.refusal.errors) };
  const { actor, resource, ...event } = judged.event;
  // Through JSON, as canonical text has gone: -0 is 0 there.
  const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
  return {
    tenantId: event.tenantId,
    actor: [actor.id, actor.email, actor.role, actor.ip, actor.userAgent],
    what: [event.action, resource.type, resource.id, resource.name],
    diff: plain(event.diff),
    states: [plain(event.before), plain(event.after)],
    rest: [event.crossTenant, event.reason, event.category],
    warnings: [...event.warnings].sort(),
  };
}

function expectSame(sent: unknown, tenantId?: string | null) {
  const { theirs, ours } = judgements(sent, tenantId);
  expect(ours).toEqual(theirs);
}

test('whatever is valid is kept as the service keeps it', () => {
  fc.assert(fc.property(eventArbitrary, (event) => expectSame(event)));
});

test('whatever is spoilt is refused with the codes and paths of the service', () => {
  fc.assert(
    fc.property(spoiltEventArbitrary, (event) => expectSame(event)),
    { numRuns: 500 },
  );
});

const actor = (changes: object) => ({ actor: { ...(eventOf().actor as object), ...changes } });
const resource = (changes: object) => ({
  resource: { ...(eventOf().resource as object), ...changes },
});
const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]));
const half = { text: 'x'.repeat(250_000) };
const longTexts = Object.fromEntries(
  ['a', 'b', 'c', 'd'].map((field) => [field, { from: 'x'.repeat(32_000), to: null }]),
);
const idAt = (timeMs: number) => eventIdFromUuid(eventUuid(timeMs, new Uint8Array(10).fill(7)));
const iso = (timeMs: number) => new Date(timeMs).toISOString();

const limits: [what: string, changes: Record<string, unknown>][] = [
  ['an unknown member', { requestId: 'x' }],
  ['a crowd of members', many(33)],
  ['a crowd in the actor', actor(many(33))],
  ['a diff of 501 fields', { diff: many(501) }],
  ['a diff that is no object', { diff: [] }],
  ['a change without a side', { diff: { a: { from: 1 } } }],
  ['a change of objects', { diff: { a: { from: {}, to: [] } } }],
  ['a text of a diff over 32 KiB', { diff: { a: { from: 'ü'.repeat(20_000), to: null } } }],
  ['a state over 256 KiB', { after: { text: 'x'.repeat(300_000) } }],
  ['an event over 600 KiB', { before: half, after: half, diff: longTexts }],
  ['a state that is a list', { before: [] }],
  ['a state that is too deep', { after: JSON.parse(`${'{"a":'.repeat(40)}1${'}'.repeat(40)}`) }],
  ['an integer beyond 2^53', { after: { n: 2 ** 60 } }],
  ['U+0000', { reason: 'a\0b' }],
  ['half a surrogate pair', resource({ name: '\ud800' })],
  ['a long reason', { reason: 'x'.repeat(1_001) }],
  ['1,000 characters beyond the basic plane', { reason: '𝒳'.repeat(1_000) }],
  ['a role with a space', actor({ role: 'super admin' })],
  ['an empty role', actor({ role: '' })],
  ['a role that is too long', actor({ role: 'r'.repeat(65) })],
  ['an id that is no UUID', actor({ id: '42' })],
  ['no e-mail address', actor({ email: 'ana' })],
  ['an e-mail address of 321 characters', actor({ email: `${'a'.repeat(315)}@ex.io` })],
  ['an e-mail address with a mark in front', actor({ email: '!ana@example.com' })],
  ['empty texts where null may be', { ...actor({ email: '', ip: '', userAgent: '' }), reason: '' }],
  ['no address', actor({ ip: '203.0.113.7:80' })],
  ['an address with a zone', actor({ ip: 'fe80::1%eth0' })],
  ['an IPv4 address within an IPv6 one', actor({ ip: '::FFFF:203.0.113.7' })],
  ['a user agent that is too long', actor({ userAgent: 'x'.repeat(2_000) })],
  ['an action that is no word', { action: 'Update' }],
  ['an action that is too long', { action: 'u'.repeat(65) }],
  ['a call', resource({ type: 'call' })],
  ['looking at a dashboard', { action: 'view', ...resource({ type: 'dashboard' }) }],
  ['two rules broken at once', { action: 'heartbeat', crossTenant: true }],
  ['a rule and a shape broken at once', { action: 'heartbeat', reason: 1 }],
  ['somebody declared an operator', { crossTenant: true }],
  ['an operator without reason or e-mail', actor({ role: 'superadmin', email: null })],
  ['an operator whose reason nobody sees', { ...actor({ role: 'superadmin' }), reason: '\u3164' }],
  ['a sensitive change without states', resource({ type: 'ivr' })],
  ['secrets', { diff: undefined, before: { password: 'a' }, after: { password: 'b' } }],
  ['an id of another moment', { id: idAt(nowMs), timestamp: iso(nowMs - 1) }],
  ['an id of another kind', { id: 'evt_audit_01k47h5550fb39eqm1pvbfw85' }],
  ['a UUIDv4 as an id', { id: eventIdFromUuid('7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a') }],
  ['a moment ahead', { timestamp: iso(nowMs + 300_001) }],
  ['an id ahead', { id: idAt(nowMs + 300_001) }],
  ['no moment', { timestamp: 'yesterday' }],
  ['another tenant', { tenantId: '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24' }],
  ['no tenant', { tenantId: 'acme' }],
  ['its own tenant in upper case', { tenantId: boundTenantId.toUpperCase() }],
];

test.each(limits)(
  '%s gets the answer of the service, from a tenant and from the platform',
  (_, changes) => {
    expectSame(eventOf(changes));
    expectSame(eventOf(changes), null);
  },
);

test.each([[null], ['text'], [[]], [{}], [7]])(
  'what is no event is refused as the service does: %j',
  (sent) => {
    expectSame(sent);
  },
);

test('without an id or a timestamp the moment is now; dates are texts, as on the wire', () => {
  const context = { nowMs, boundTenantId: undefined };
  const { event } = judgeEvent(eventOf({ before: { at: new Date(nowMs) } }), context);
  expect(event?.timestamp).toBe(iso(nowMs));
  expect(event?.before).toEqual({ at: iso(nowMs) });
  expect(judgeEvent(eventOf({ id: idAt(5) }), context).event?.timestamp).toBe(iso(5));
});
