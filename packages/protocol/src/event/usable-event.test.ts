import { expect, test } from 'vitest';
import { actorWith, boundTenantId, refused, taken } from '../testing/take-context.ts';
import { contextOf } from './context.ts';
import { externalUuid } from './external-id.ts';

const resource = { type: 'file', id: boundTenantId };
const nested = (depth: number): object => (depth === 0 ? {} : { a: nested(depth - 1) });

/** The warnings with their paths, and what stands in `asSent`. */
const noted = (changes: Record<string, unknown>) => {
  const { warningPaths, asSent } = taken(changes);
  return { warningPaths, asSent };
};

test.each([
  ['n/a', null],
  ["admin'--", null],
  [`${'a'.repeat(400)}@example.com`, null],
  ['ana lee@example.com', null],
  ['ana\u200b@example.com', null],
])('the e-mail address %j records no address, and says what was sent', (email) => {
  const { event, warnings, warningPaths, asSent } = taken({
    actor: { role: 'anonymous', email },
    action: 'login_failed',
  });
  expect(event.actorEmail).toBeNull();
  expect(warnings).toEqual(['value_dropped']);
  expect(warningPaths).toEqual({ value_dropped: ['/actor/email'] });
  expect(asSent).toEqual({ '/actor/email': email });
});

test('an e-mail address is stored in NFC', () => {
  const { event, warnings } = taken({ actor: actorWith({ email: 'jose\u0301@example.com' }) });
  expect([event.actorEmail, warnings]).toEqual(['jos\u00e9@example.com', []]);
});

test.each([
  ['203.0.113.7:51234', '203.0.113.7'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['203.0.113.7, 10.0.0.1', '203.0.113.7'],
])('the IP of the address %j is recorded, and asSent has the rest', (ip, plain) => {
  const { event, warningPaths, asSent } = taken({ actor: actorWith({ ip }) });
  expect(event.actorIp).toBe(plain);
  expect(warningPaths).toEqual({ truncated: ['/actor/ip'] });
  expect(asSent).toEqual({ '/actor/ip': ip });
});

test('an address that is none is not recorded, but what was sent is', () => {
  for (const ip of ['unknown', 'ec2.amazonaws.com', '01.2.3.4']) {
    const { event, warningPaths, asSent } = taken({ actor: actorWith({ ip }) });
    expect(event.actorIp).toBeNull();
    expect([warningPaths, asSent]).toEqual([{ value_dropped: ['/actor/ip'] }, { '/actor/ip': ip }]);
  }
  const mapped = taken({ actor: actorWith({ ip: '::ffff:203.0.113.7' }) });
  expect([mapped.event.actorIp, mapped.warnings]).toEqual(['203.0.113.7', []]);
});

test('names, reasons and own ids of any length are cut, and asSent has what was longer', () => {
  for (const length of [201, 5_000]) {
    const name = 'n'.repeat(length);
    const { event, warningPaths, asSent } = taken({ resource: { ...resource, name } });
    expect(event.resourceName).toBe('n'.repeat(200));
    expect(warningPaths).toEqual({ truncated: ['/resource/name'] });
    expect(asSent).toEqual({ '/resource/name': name.slice(0, 1_000) });
  }
  const reason = taken({ reason: 'x'.repeat(1_001) });
  expect([reason.event.reason?.length, reason.warnings, reason.asSent]).toEqual([
    1_000,
    ['truncated'],
    undefined,
  ]);
  const { event } = taken({
    actor: actorWith({ name: 'a'.repeat(201) }),
    correlationId: 'c'.repeat(129),
  });
  expect(contextOf(event)).toMatchObject({
    actor: { name: 'a'.repeat(200) },
    correlationId: 'c'.repeat(128),
  });
});

test('own ids that are cut keep the UUID of what was sent: no two of them become one', () => {
  const of = (externalId: string) => taken({ resource: { type: 'file', externalId } }).event;
  const [one, other] = [of(`${'p'.repeat(300)}1`), of(`${'p'.repeat(300)}2`)];
  expect(one.resourceId).not.toBe(other.resourceId);
  expect(contextOf(one).resource?.externalId).toBe('p'.repeat(200));
  expect(of('a b').resourceId).toBe(externalUuid(boundTenantId, 'file', 'a b'));
  const odd = taken({ resource: { type: 'file', externalId: ' !x\n' } });
  expect(odd.event.resourceId).toBe(externalUuid(boundTenantId, 'file', ' !x\n'));
  expect(odd.asSent).toEqual({ '/resource/externalId': ' !x\n' });
});

test('an id that is no UUID is the own id: a number, digits or another text', () => {
  for (const id of [42, '42']) {
    const { event, warnings } = taken({ actor: { id, role: 'admin' } });
    expect(event.actorId).toBe(externalUuid(boundTenantId, 'actor', '42'));
    expect([contextOf(event).actor, warnings]).toEqual([{ externalId: '42' }, []]);
  }
  const { event } = taken({
    targets: [{ type: 'user', id: 7 }],
    resource: { type: 'q', id: 'q-1' },
  });
  expect(event.resourceId).toBe(externalUuid(boundTenantId, 'q', 'q-1'));
  expect(contextOf(event).targets).toEqual([
    { type: 'user', id: externalUuid(boundTenantId, 'user', '7'), externalId: '7' },
  ]);
  for (const id of [true, [], {}]) {
    expect(refused({ actor: { id, role: 'admin' } }).errors).toEqual(['/actor/id invalid_type']);
  }
});

test('an actor with only an e-mail address has the id of that address, in any case of it', () => {
  const idOf = (email: string) => taken({ actor: { role: 'anonymous', email } }).event.actorId;
  expect(idOf('Ana@Example.com')).toBe(
    externalUuid(boundTenantId, 'actor', 'email:ana@example.com'),
  );
  expect(idOf("Admin'--")).toBe(externalUuid(boundTenantId, 'actor', "email:admin'--"));
  for (const actor of [{ role: 'x' }, { role: 'x', id: null }, { role: 'x', email: '' }]) {
    expect(refused({ actor }).errors).toEqual(['/actor/id required']);
  }
});

test('a role that cannot be shown keeps all of its characters, so that it becomes no other role', () => {
  for (const role of [
    'superadmin ',
    ' superadmin',
    'super\u200badmin',
    `superadmin${' '.repeat(99)}`,
    'a\ufffd',
    '\u{D7FC}',
  ]) {
    const { event, warnings, asSent } = taken({ actor: actorWith({ role }) });
    expect(event.actorRole).toContain('⟨U+');
    expect([event.crossTenant, warnings]).toEqual([false, ['value_dropped']]);
    expect(asSent).toEqual({ '/actor/role': role });
  }
  expect(taken({ actor: actorWith({ role: 'r'.repeat(65) }) })).toMatchObject({
    event: { actorRole: 'r'.repeat(64) },
    warnings: ['truncated'],
  });
});

test('words of a list that the event lacks are dropped, with what they belong to where that needs them', () => {
  expect(noted({ outcome: 'maybe', traceId: 'abc', actor: actorWith({ type: 'robot' }) })).toEqual({
    warningPaths: { value_dropped: ['/actor/type', '/outcome', '/traceId'] },
    asSent: { '/outcome': 'maybe', '/traceId': 'abc', '/actor/type': 'robot' },
  });
  expect(noted({ via: { tool: 'x' }, targets: [{ type: 'A b', id: 1, name: 'Bea' }] })).toEqual({
    warningPaths: { value_dropped: ['/via', '/targets/0'] },
    asSent: { '/via': '{"tool":"x"}', '/targets/0': '{"type":"A b","id":1,"name":"Bea"}' },
  });
  const people = Array.from({ length: 6 }, (_, at) => ({ externalId: `p${at}` }));
  const { event, warningPaths } = taken({ onBehalfOf: people });
  expect(contextOf(event).onBehalfOf).toHaveLength(4);
  expect(warningPaths).toEqual({ truncated: ['/onBehalfOf'] });
});

test('names and texts of metadata are cut, never the event refused', () => {
  const { event, warningPaths, asSent } = taken({
    metadata: { [`k${'x'.repeat(40)}`]: 1, text: 't'.repeat(501), 'a\nb': 2, '': 3 },
  });
  const cut = `k${'x'.repeat(39)}`;
  expect(contextOf(event).metadata).toEqual({ [cut]: 1, text: 't'.repeat(500) });
  expect(warningPaths).toEqual({
    truncated: [`/metadata/${cut}`, '/metadata/text'],
    value_dropped: ['/metadata/a\nb', '/metadata/'],
  });
  expect(asSent).toMatchObject({ [`/metadata/${cut}`]: `k${'x'.repeat(40)}` });
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`k${at}`, at]));
  expect(Object.keys(contextOf(taken({ metadata: many }).event).metadata ?? {})).toHaveLength(50);
});

test('a secret is masked before it is cut, and in asSent', () => {
  const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJ${'a'.repeat(600)}.${'b'.repeat(40)}`;
  const { event, warnings, asSent } = taken({
    metadata: { session: jwt, note: 'x'.repeat(501) },
    via: { channel: 'api', sessionId: jwt },
    actor: actorWith({ ip: jwt }),
  });
  expect(contextOf(event)).toMatchObject({
    metadata: { session: '[masked]' },
    via: { sessionId: '[masked]' },
  });
  expect(asSent?.['/actor/ip']).toBe('[masked]');
  expect(warnings).toContain('secret_masked');
});

test('a text of a diff is cut at 32 KiB, and of 501 fields the first 500 are kept', () => {
  const { event, warningPaths } = taken({
    diff: { a: { from: 'x'.repeat(33 * 1_024), to: null } },
  });
  expect(JSON.parse(event.diff).a.from).toHaveLength(32 * 1_024);
  expect(warningPaths).toEqual({ truncated: ['/diff/a/from'] });
});

test('U+0000 and halves of pairs are written as code points wherever they stand, in names too', () => {
  const { event, warningPaths, asSent } = taken({
    reason: 'a\0b',
    actor: actorWith({ userAgent: '\ud800', email: 'x\0@example.com' }),
    before: { a: [{ '\udc00': 1 }] },
    after: null,
    diff: {},
  });
  expect(event).toMatchObject({
    reason: 'a⟨U+0000⟩b',
    actorUserAgent: '⟨U+D800⟩',
    actorEmail: 'x⟨U+0000⟩@example.com',
    before: '{"a":[{"⟨U+DC00⟩":1}]}',
  });
  expect(warningPaths.value_dropped).toHaveLength(4);
  expect(asSent?.['/reason']).toBe('a⟨U+0000⟩b');
});

test('a state that is too large or too deep is dropped, and its change is still told', () => {
  const before = { text: 'x'.repeat(257 * 1_024), password: 'secret', b: 1 };
  const { event, warningPaths, asSent } = taken({ before, after: { b: 2 }, diff: undefined });
  expect(event.before).toBeNull();
  expect(JSON.parse(event.diff).b).toEqual({ from: 1, to: 2 });
  expect(warningPaths.value_dropped).toEqual(['/before']);
  expect(asSent?.['/before']).toMatch(/^\{"b":1,"password":"\[masked\]"/);
  const deep = taken({ before: nested(40), after: { a: 1 }, diff: {} });
  expect([deep.event.before, deep.event.after]).toEqual([null, '{"a":1}']);
});

test('asSent has at most 20 texts, and an exported event keeps its own', () => {
  const metadata = Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => [`${at}${'k'.repeat(41)}`, at]),
  );
  expect(Object.keys(taken({ metadata }).asSent ?? {})).toHaveLength(20);
  const exported = { '/actor/email': 'n/a' };
  expect(noted({ asSent: exported })).toEqual({ warningPaths: {}, asSent: exported });
  expect(refused({ asSent: { a: 1 } }).errors).toEqual(['/asSent/a invalid_type']);
});

test('each warning names its paths', () => {
  expect(taken({ actor: actorWith({ role: 'superadmin', email: null }) }).warningPaths).toEqual({
    reason_missing: ['/reason'],
    operator_email_missing: ['/actor/email'],
  });
  const { warningPaths } = taken({
    actor: actorWith({ role: 'Super Admin' }),
    resource: { type: 'ivr', id: boundTenantId },
    after: { password: 'x' },
    diff: undefined,
  });
  expect(warningPaths).toEqual({
    role_resembles_operator: ['/actor/role'],
    state_missing: ['/before'],
    secret_masked: ['/after'],
  });
});
