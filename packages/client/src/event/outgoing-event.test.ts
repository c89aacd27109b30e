import type { Diff } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventFields, takeEvent } from '../../../protocol/src/index.ts';
import { everyContext } from '../../../protocol/src/testing/recorded-log.ts';
import { takeContext } from '../../../protocol/src/testing/take-context.ts';
import type { EventInput } from '../api-types.ts';
import { createOutgoing } from './outgoing-event.ts';
import { diffOf } from './plain-json.ts';

const event = {
  actor: { id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', role: 'admin' },
  action: 'update',
  resource: { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11' },
} satisfies EventInput;
const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';
const context = takeContext({ nowMs: Date.now(), boundTenantId: tenantId });

/** What the service stores of the changes. */
function stored(sent: unknown) {
  const { event: taken, refusal } = takeEvent(JSON.parse(JSON.stringify(sent)), context);
  if (refusal) throw new Error(JSON.stringify(refusal));
  const { diff, before, after } = taken;
  return { diff, before, after };
}

test('null, undefined and a Date are recorded wherever their type allows them', () => {
  const absent = { email: null, ip: undefined, userAgent: null, type: null, name: null };
  const sent: EventInput = {
    ...event,
    timestamp: new Date(),
    tenantId: undefined,
    actor: { ...event.actor, ...absent },
    resource: { ...event.resource, name: undefined },
    reason: null,
    diff: undefined,
    before: null,
    after: undefined,
    outcome: null,
    correlationId: null,
    metadata: null,
    onBehalfOf: [{ externalId: 'ana', email: null, name: null, type: null, role: null }],
    via: { channel: 'api', clientId: null, tool: null, sessionId: undefined },
    targets: [{ type: 'user', externalId: 'bea', name: null }],
  };
  expect(() => stored(createOutgoing()(sent))).not.toThrow();
  const none: EventInput = { ...event, onBehalfOf: null, via: null, targets: null };
  expect(() => stored(createOutgoing()(none))).not.toThrow();
});

const names = ['name', 'password', 'apiKey', 'api', 'key', 'a.b', 'b', 'clientSecret', '__proto__'];
const leaf = fc.oneof(fc.constantFrom('x', 'y', null, true, 1, ''), fc.integer(), fc.string());
const { state } = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    leaf,
    tie('state'),
    fc.array(tie('node'), { maxLength: 3 }),
  ),
  state: fc.dictionary(fc.constantFrom(...names), tie('node'), { maxKeys: 4 }),
}));
const states = fc.tuple(state, state) as fc.Arbitrary<[object, object]>;

test('masked here or there, the same is stored: diff, before and after', () => {
  const outgoing = createOutgoing();
  fc.assert(
    fc.property(states, ([before, after]) => {
      const whole = { ...event, before, after } as EventInput;
      expect(stored(outgoing(whole))).toEqual(stored(whole));
      const given = { ...event, diff: diffOf(before, after) };
      expect(stored(outgoing(given))).toEqual(stored(given));
    }),
  );
});

test('no field of an event is masked, whatever names are', () => {
  const whole: Record<string, unknown> = {};
  const sent = eventFields.filter((field) => field.sent !== undefined);
  for (const { owner, name, kind, members } of sent) {
    const member = members && Object.fromEntries(Object.keys(members).map((key) => [key, 'x']));
    const isFree = ['diff', 'state', 'metadata'].includes(kind);
    const value = kind === 'list' ? [member] : (member ?? (isFree ? {} : 'x'));
    if (owner === null) whole[name] = value;
    else whole[owner] = { ...(whole[owner] as object), [name]: value };
  }
  const names = sent.flatMap(({ owner, name, members = {} }) => [
    ...[owner ?? name, name, ...Object.keys(members)],
  ]);
  const outgoing = createOutgoing({ maskedKeys: names });
  expect(outgoing(whole as unknown as EventInput)).toEqual(whole);
});

test('diffOf gives the diff that the service computes from the same states', () => {
  fc.assert(
    fc.property(states, ([before, after]) => {
      const { diff } = stored({ ...event, before, after });
      expect(diffOf(before, after)).toEqual(JSON.parse(diff));
    }),
  );
  const cut = diffOf(null, { long: 'x'.repeat(40_000), at: new Date(0), gone: undefined });
  expect(Object.keys(cut)).toEqual(['at', 'long']);
  expect(cut.long?.to).toHaveLength(32 * 1024);
});

test('no secret leaves, in whatever it is wrapped, and that one changed is still told', () => {
  const outgoing = createOutgoing({ maskedKeys: ['pin_code'] });
  const user = (password: string) => ({ toJSON: () => ({ sip: [{ password }], pinCode: '4711' }) });
  const sent = outgoing({
    ...event,
    before: { user: user('s3cret-1') },
    after: { user: user('s3cret-2') },
  });
  const text = JSON.stringify(sent);
  expect(text).not.toMatch(/s3cret|4711/);
  expect(sent.diff).toEqual({ 'user.sip.0.password': { from: '[masked]', to: '[masked]' } });
  expect(sent.after).toEqual({ user: { sip: [{ password: '[masked]' }], pinCode: '[masked]' } });
});

test('no configured name hides a field of the event, at any depth, but what metadata holds', () => {
  const given = { ...event, ...everyContext, actor: { ...event.actor, ...everyContext.actor } };
  const whole = { ...given, resource: { ...event.resource, ...everyContext.resource } };
  const { metadata, asSent, ...others } = whole;
  const maskedKeys = [...JSON.stringify(whole).matchAll(/"(\w+)":/g)].map(([, name = '']) => name);
  const sent = createOutgoing({ maskedKeys })(whole as unknown as EventInput);
  expect(sent).toMatchObject(others);
  expect(sent.asSent).toEqual({ '/actor/ip': '[masked]' });
  expect(sent.metadata).toMatchObject({ region: '[masked]', attempt: '[masked]' });
});

test('the value of a secret does not leave, and an id that looks like one stays', () => {
  const resource = { type: 'secret', externalId: 'https://x.example/?token=7', name: 'SMTP' };
  const sent = createOutgoing()({
    ...event,
    resource,
    before: { value: 's3cret-1' },
    after: { value: 's3cret-2' },
  });
  expect(sent).toMatchObject({
    resource,
    before: { value: '[masked]' },
    diff: { value: { from: '[masked]', to: '[masked]' } },
  });
  expect(JSON.stringify(sent)).not.toContain('s3cret');
});

test('a diff that is none is left for the service to refuse, without its secrets', () => {
  const diff = { password: 's3cret', name: null } as unknown as NonNullable<EventInput['diff']>;
  const sent = createOutgoing()({ ...event, diff });
  expect(sent.diff).toEqual({ password: '[masked]', name: null });
});

test('no secret leaves within the sides of a change, or beside them', () => {
  const change = { from: { password: 's3cret' }, to: [{ token: 's3cret' }], apiKey: 's3cret' };
  for (const diff of [{ user: change }, { password: change }, { user: { ...change, from: 1 } }]) {
    const sent = createOutgoing()({ ...event, diff: diff as unknown as Diff });
    expect(JSON.stringify(sent)).not.toContain('s3cret');
  }
});

test('no secret leaves in members that no event has, nor in objects where a text belongs', () => {
  const outgoing = createOutgoing({ maskedKeys: ['email', 'name', 'actor'] });
  const user = { ...event.actor, email: 'ana@example.com', passwordHash: 's3cret' };
  const odd = {
    ...event,
    actor: user,
    resource: { ...event.resource, name: 'Sales', settings: [{ apiKey: 's3cret' }] },
    reason: { token: 's3cret' },
    metadata: { headers: { Authorization: 's3cret' } },
    password: 's3cret',
  } as unknown as EventInput;
  const sent = outgoing(odd);
  expect(JSON.stringify(sent)).not.toContain('s3cret');
  // Still there, so that the service refuses them by name; what an event has is as it was.
  expect(sent).toMatchObject({
    actor: { ...event.actor, email: 'ana@example.com', passwordHash: '[masked]' },
    resource: { ...event.resource, name: 'Sales', settings: [{ apiKey: '[masked]' }] },
    metadata: { headers: { Authorization: '[masked]' } },
    password: '[masked]',
  });
  const list = [{ ...user, token: 's3cret' }] as unknown as EventInput['actor'];
  expect(JSON.stringify(outgoing({ ...event, actor: list }))).not.toContain('s3cret');
});

test('an event is what it is as JSON, asked once: what looks harmless first cannot turn into a secret', () => {
  let asked = 0;
  const document = { toJSON: () => ({ ...event.actor, secret: 's3cret' }), secret: 's3cret' };
  const given = {
    ...event,
    actor: document as unknown as EventInput['actor'],
    get after() {
      asked += 1;
      return { plain: asked };
    },
    toJSON: undefined,
  };
  const sent = createOutgoing()(given);
  expect(asked).toBe(1);
  expect(JSON.parse(JSON.stringify(sent))).toEqual(sent);
  expect(sent).toMatchObject({
    actor: { ...event.actor, secret: '[masked]' },
    after: { plain: 1 },
  });
  const turning = { ...event, toJSON: () => ({ ...event, after: { password: 's3cret' } }) };
  expect(JSON.stringify(createOutgoing()(turning))).not.toContain('s3cret');
});

test('a moment may be a Date, and the id is of that moment', () => {
  const timestamp = new Date('2025-09-03T10:00:00.123Z') as unknown as string;
  const sent = createOutgoing()({ ...event, timestamp });
  expect(sent).toMatchObject({ timestamp: '2025-09-03T10:00:00.123Z' });
  expect(sent.id).toMatch(/^evt_audit_01k/);
});

test.each([null, undefined, 7, 'update', [event]])(
  '%j is no event, and is said to be none',
  (none) => {
    const outgoing = createOutgoing();
    expect(() => outgoing(none as unknown as EventInput)).toThrow(
      /^an audit event must be an object$/,
    );
  },
);

test('an event keeps what it has, gets an id of its own time, and is not the caller’s object', () => {
  const outgoing = createOutgoing({ tenantId });
  const given = { ...event, timestamp: '2025-09-03T10:00:00.123Z', after: { steps: [1] } };
  const sent = outgoing(given);
  expect(sent).toEqual({ ...given, id: expect.stringMatching(/^evt_audit_01k/), tenantId });
  expect(outgoing(sent)).toEqual(sent);
  given.after.steps.push(2);
  given.actor.role = 'changed';
  expect(sent).toMatchObject({ after: { steps: [1] }, actor: { role: 'admin' } });
  const unreadable = outgoing({ ...event, timestamp: 'yesterday', tenantId: 'other' });
  expect(unreadable).toMatchObject({ timestamp: 'yesterday', tenantId: 'other' });
  expect(unreadable.id).not.toBe(sent.id);
});
