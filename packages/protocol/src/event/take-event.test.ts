import { expect, test } from 'vitest';
import {
  actorWith,
  boundTenantId,
  nowMs,
  refused,
  refusedRaw,
  taken,
} from '../testing/take-context.ts';
import { eventIdFromUuid, eventUuid } from './event-id.ts';

const idAt = (timeMs: number) => eventIdFromUuid(eventUuid(timeMs, new Uint8Array(10).fill(7)));
const iso = (timeMs: number) => new Date(timeMs).toISOString();

test('actor and resource ids are any UUID in any case, kept in lower case', () => {
  const { event } = taken({
    actor: actorWith({ id: '7F9C2BA4-E88F-4A1B-9C3D-1F2E3D4C5B6A' }),
    resource: { type: 'queue', id: '0B54A1DE-6E0F-4C66-A24C-2C4F6F2C7A11' },
  });
  expect(event.actorId).toBe('7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a');
  expect(event.resourceId).toBe('0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11');
});

test('the nil UUID stands for an unauthenticated actor', () => {
  const nil = '00000000-0000-0000-0000-000000000000';
  const { event } = taken({ actor: { id: nil, role: 'anonymous' }, action: 'login_failed' });
  expect(event).toMatchObject({
    actorId: nil,
    actorEmail: null,
    actorIp: null,
    category: 'security',
  });
});

test('an e-mail address is kept as it was written, or null; none is ever invented', () => {
  for (const email of [
    'ana@example.com',
    'Ana+1@EXAMPLE.com',
    'ü@bücher.example',
    '"a"@b',
    'a@b',
  ]) {
    expect(taken({ actor: actorWith({ email }) }).event.actorEmail).toBe(email);
  }
  for (const email of [null, '']) {
    expect(taken({ actor: actorWith({ email }) }).event.actorEmail).toBeNull();
  }
  const { email: _, ...without } = actorWith({});
  expect(taken({ actor: without }).event.actorEmail).toBeNull();
  expect(
    taken({ actor: actorWith({ email: `${'a'.repeat(318)}@b` }) }).event.actorEmail,
  ).toHaveLength(320);
});

test('an e-mail address of another type is refused', () => {
  expect(refused({ actor: actorWith({ email: 5 }) }).errors).toEqual(['/actor/email invalid_type']);
});

test('a role is a visible text of at most 64 characters, kept exactly', () => {
  const words = ['admin', 'superadmin', 'Team-Lead', 'l2.support', 'Ärztin', 'r'.repeat(64)];
  for (const role of [
    ...words,
    'Org Owner',
    'team lead',
    'می\u200cخواهم',
    '👨‍👩‍👧 crew ❤️',
    'क्\u200dष',
  ]) {
    expect(taken({ actor: actorWith({ role }) }).event.actorRole).toBe(role);
  }
  expect(refused({ actor: actorWith({ role: null }) }).errors).toEqual([
    '/actor/role invalid_type',
  ]);
});

test('an address is stored in the one form of RFC 5952', () => {
  for (const [ip, canonical] of [
    ['203.0.113.7', '203.0.113.7'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['::FFFF:203.0.113.7', '203.0.113.7'],
  ] as const) {
    expect(taken({ actor: actorWith({ ip }) }).event.actorIp, ip).toBe(canonical);
  }
  for (const ip of [null, '']) {
    expect(taken({ actor: actorWith({ ip }) }).event.actorIp).toBeNull();
  }
  expect(refused({ actor: actorWith({ ip: 1 }) }).errors).toEqual(['/actor/ip invalid_type']);
});

test('a user agent is cut after 1,024 characters, never refused, and the warning says so', () => {
  const of = (userAgent: unknown) => taken({ actor: actorWith({ userAgent }) });
  expect(of('x'.repeat(1_024))).toMatchObject({
    event: { actorUserAgent: 'x'.repeat(1_024) },
    warnings: [],
  });
  expect(of('x'.repeat(1_025)).event.actorUserAgent).toBe('x'.repeat(1_024));
  expect(of('x'.repeat(1_025)).warnings).toEqual(['truncated']);
  expect(of('x'.repeat(500_000)).event.actorUserAgent).toHaveLength(1_024);
  // Characters, not UTF-16 units: no half of a pair is left behind.
  expect(of('😀'.repeat(1_024))).toMatchObject({
    event: { actorUserAgent: '😀'.repeat(1_024) },
    warnings: [],
  });
  expect(of('😀'.repeat(1_025)).event.actorUserAgent).toBe('😀'.repeat(1_024));
  expect(of('').event.actorUserAgent).toBeNull();
});

test('empty strings in nullable fields mean null; in the others they are refused', () => {
  const { event } = taken({
    actor: actorWith({ email: '', ip: '', userAgent: '' }),
    resource: { type: 'queue', id: boundTenantId, name: '' },
    reason: '',
  });
  expect(event).toMatchObject({
    actorEmail: null,
    actorIp: null,
    actorUserAgent: null,
    resourceName: null,
    reason: null,
  });
  expect(refused({ action: '' }).errors).toEqual(['/action invalid_format']);
  expect(refused({ actor: actorWith({ role: '' }) }).code).toBe('validation_failed');
  expect(taken({ diff: { a: { from: '', to: 'x' } } }).event.diff).toBe(
    '{"a":{"from":"","to":"x"}}',
  );
});

test('the body that was sent is left as it was', () => {
  const raw = { actor: { id: 'x', email: '' }, resource: { name: '' }, reason: '' };
  refusedRaw(raw);
  expect(raw).toEqual({ actor: { id: 'x', email: '' }, resource: { name: '' }, reason: '' });
});

test('actions and resource types are snake_case words, also with dots, of at most 64 characters', () => {
  for (const word of [
    ...'create',
    'login_failed',
    'a',
    'x2_3y',
    'w'.repeat(64),
    'constructor',
    '2fa_enabled',
    'a.2b',
  ]) {
    const resource = { type: word, id: boundTenantId };
    expect(taken({ action: word, resource }).event).toMatchObject({
      action: word,
      resourceType: word,
    });
  }
  for (const word of [
    ...['Create', 'log in', 'a__b', '_a', 'a_', 'a..b', '.a', 'löschen', 'a-b', 'a\n', 'to_String'],
  ]) {
    expect(refused({ action: word }).errors, word).toEqual(['/action invalid_format']);
    expect(refused({ resource: { type: word, id: boundTenantId } }).errors, word).toEqual([
      '/resource/type invalid_format',
    ]);
  }
  expect(refused({ action: 'w'.repeat(65) }).errors).toEqual(['/action too_long']);
});

test('a name has at most 200 characters and a reason 1,000, counted as people count them', () => {
  const named = (name: string) => ({ resource: { type: 'queue', id: boundTenantId, name } });
  expect(taken(named('😀'.repeat(200))).event.resourceName).toBe('😀'.repeat(200));
  expect(taken(named('😀'.repeat(201))).event.resourceName).toBe('😀'.repeat(200));
  expect(taken({ reason: '😀'.repeat(1_000) }).event.reason).toHaveLength(2_000);
});

test('crossTenant is true exactly for a superadmin, whatever was sent with one', () => {
  const superadmin = actorWith({ role: 'superadmin' });
  for (const crossTenant of [undefined, false, true]) {
    const sent = crossTenant === undefined ? {} : { crossTenant };
    expect(taken({ actor: superadmin, ...sent }).event.crossTenant).toBe(true);
  }
  expect(taken({ crossTenant: false }).event.crossTenant).toBe(false);
  expect(taken().event.crossTenant).toBe(false);
});

test('a role that resembles superadmin is recorded as it is, with a warning, and is no operator', () => {
  for (const role of [
    'SuperAdmin',
    'SUPERADMIN',
    'Super Admin',
    'super_admin',
    'ｓｕｐｅｒａｄｍｉｎ',
  ]) {
    const { event, warnings } = taken({ actor: actorWith({ role }), reason: null });
    expect(event, role).toMatchObject({ actorRole: role, crossTenant: false });
    expect(warnings).toEqual(['role_resembles_operator']);
  }
  const onBehalfOf = [{ externalId: 'olga', role: 'Super Admin' }];
  expect(taken({ onBehalfOf }).warnings).toEqual(['role_resembles_operator']);
  for (const role of ['supervisor', 'superadmin_assistant', 'superadmin2', 'суперадмин']) {
    expect(taken({ actor: actorWith({ role }) }).warnings, role).toEqual([]);
  }
});

test("an action on behalf of an operator is an operator’s, and needs a reason and an operator's address", () => {
  const olga = { externalId: 'olga', email: 'olga@operator.example', role: 'superadmin' };
  const ana = { externalId: 'ana', role: 'admin' };
  const of = (onBehalfOf: object[], changes: object = {}) =>
    taken({ actor: actorWith({ email: null }), onBehalfOf, reason: 'Ticket 1', ...changes });
  const { event, warnings } = of([ana, olga]);
  expect(event).toMatchObject({ crossTenant: true, category: 'cross_tenant', actorRole: 'admin' });
  expect(warnings).toEqual([]);
  expect(of([olga], { crossTenant: true }).event.crossTenant).toBe(true);
  expect(of([{ ...olga, email: '' }], { reason: null }).warnings).toEqual([
    ...['reason_missing', 'operator_email_missing'],
  ]);
  expect(of([ana], { reason: null })).toMatchObject({
    event: { crossTenant: false, category: 'configuration' },
    warnings: [],
  });
});

test('crossTenant true with another role is a mismatch: no actor becomes an operator by accident', () => {
  for (const role of ['admin', 'Superadmin', 'superadmin2', 'operator']) {
    expect(refused({ crossTenant: true, actor: actorWith({ role }) })).toMatchObject({
      code: 'cross_tenant_mismatch',
      errors: ['/crossTenant cross_tenant_mismatch'],
    });
  }
  for (const crossTenant of ['true', 1, null]) {
    expect(refused({ crossTenant }).errors).toEqual(['/crossTenant invalid_type']);
  }
});

test('an operator event without a reason or an e-mail is recorded, with warnings that say so', () => {
  const of = (email: string | null, reason: unknown) =>
    taken({ actor: actorWith({ role: 'superadmin', email }), reason }).warnings;
  expect(of('op@example.com', 'ticket 7')).toEqual([]);
  for (const reason of [null, '', '   ', '\n\t', '\u3164']) {
    expect(of('op@example.com', reason)).toEqual(['reason_missing']);
  }
  expect(of(null, 'ticket 7')).toEqual(['operator_email_missing']);
  expect(of(null, null)).toEqual(['reason_missing', 'operator_email_missing']);
  expect(taken({ actor: actorWith({ email: null }) }).warnings).toEqual([]);
});

test('the category follows from the action alone, unknown words are configuration', () => {
  const actions = {
    configuration: ['create', 'update', 'delete', 'publish', 'restore', 'reassign', 'constructor'],
    data_access: ['access', 'read', 'view', 'list', 'search', 'play', 'download', 'export'],
    security: [
      ...['login', 'logout', 'login_failed', 'mfa_configured', 'password_changed'],
      'session_forced',
    ],
    integration: ['connect', 'disconnect', 'push', 'send'],
  };
  for (const [category, words] of Object.entries(actions)) {
    for (const action of words) expect(taken({ action }).event.category, action).toBe(category);
  }
});

test('cross_tenant wins over every other category', () => {
  for (const action of ['update', 'access', 'login', 'send', 'reassign']) {
    expect(taken({ action, actor: actorWith({ role: 'superadmin' }) }).event.category).toBe(
      'cross_tenant',
    );
  }
});

const resource = (type: string) => ({ resource: { type, id: boundTenantId } });

test('every look at a dashboard, wallboard, softphone or page is refused with a sentence why', () => {
  for (const action of ['access', 'view', 'read', 'refresh', 'heartbeat', 'page_view']) {
    for (const type of ['dashboard', 'wallboard', 'softphone', 'page']) {
      const { code, detail, errors } = refused({ action, ...resource(type) });
      expect([code, errors], `${action} ${type}`).toEqual([
        'not_recordable',
        ['/action not_recordable'],
      ]);
      expect(detail).toMatch(/not (an )?audit events?: .{20,}/);
    }
  }
});

test('page views and heartbeats are refused on anything, and calls whatever is done to them', () => {
  for (const action of ['page_view', 'heartbeat']) {
    for (const type of ['queue', 'user', 'session']) {
      expect(refused({ action, ...resource(type) }).code, `${action} ${type}`).toBe(
        'not_recordable',
      );
    }
  }
  for (const action of ['create', 'update', 'delete', 'access', 'play', 'reassign']) {
    const { code, detail } = refused({ action, ...resource('call') });
    expect([code, detail], action).toEqual([
      'not_recordable',
      'Calls are not audit events: they live in the call-detail record store.',
    ]);
  }
});

test('changing the configuration of a dashboard is recordable, and so is looking at other things', () => {
  for (const type of ['dashboard', 'wallboard', 'softphone', 'page']) {
    for (const action of ['create', 'update', 'delete', 'publish', 'export']) {
      expect(taken({ action, ...resource(type) }).event.resourceType).toBe(type);
    }
  }
  for (const type of ['recording', 'call_recording', 'dashboard_config', 'transcript']) {
    expect(taken({ action: 'access', ...resource(type) }).event.category).toBe('data_access');
  }
});

test('everything that is wrong with an event is said at once', () => {
  const { code, errors } = refusedRaw({
    id: 'x',
    timestamp: 'yesterday',
    tenantId: 7,
    actor: { email: 'nobody', role: '', ip: 'here', colour: 'red' },
    action: 'Do It',
    resource: { id: 'r', name: 'x'.repeat(201) },
    diff: { a: { from: [], to: 1 }, b: { from: 1 }, c: 3 },
    crossTenant: 'yes',
    reason: 5,
    before: [],
    after: 'text',
    extra: 1,
  });
  expect(code).toBe('validation_failed');
  expect([...errors].sort()).toEqual(
    [
      ...['/id invalid_format', '/timestamp invalid_format', '/tenantId invalid_type'],
      ...['/actor/role too_short', '/actor/colour unknown_field'],
      ...['/action invalid_format', '/resource/type required'],
      ...['/diff/a/from invalid_type', '/diff/b/to required'],
      ...['/diff/c invalid_type', '/crossTenant invalid_type', '/reason invalid_type'],
      ...['/before invalid_type', '/after invalid_type', '/extra unknown_field'],
    ].sort(),
  );
});

test('several broken rules are one failed validation that names each', () => {
  const { code, errors } = refused({
    id: idAt(nowMs),
    timestamp: iso(nowMs - 1),
    crossTenant: true,
    action: 'heartbeat',
  });
  expect(code).toBe('validation_failed');
  expect(errors).toEqual([
    '/timestamp id_timestamp_mismatch',
    '/crossTenant cross_tenant_mismatch',
    '/action not_recordable',
  ]);
});

test('a value that is not an object is no event', () => {
  for (const raw of [undefined, null, true, 0, '', 'event', [], [{}]]) {
    expect(refusedRaw(raw).errors, JSON.stringify(raw)).toEqual([' invalid_type']);
  }
});

test('the service sets the recorder from the credential, and nobody can send it', () => {
  expect(taken().event).toMatchObject({
    recordedByKind: 'api_key',
    recordedById: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11',
  });
  for (const output of [
    ...['recordedBy', 'sequence', 'receivedAt', 'category', 'hasState', 'leafHash'],
  ]) {
    expect(refused({ [output]: 1 }).errors).toEqual([`/${output} unknown_field`]);
  }
});
