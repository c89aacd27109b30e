import { uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import fc from 'fast-check';
import fastify from 'fastify';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../../protocol/src/testing/any-character.ts';
import { IndelibleError } from '../http/errors.ts';
import { captureAudit, expectAudited } from '../testing/index.ts';
import { fastifyAudit } from './fastify.ts';
import { fetchAudit } from './fetch.ts';
import { type AuditVariables, honoAudit } from './hono.ts';
import { type Actor, NotRecordedError, RequestAudit } from './request-audit.ts';

const ana = { id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', email: 'ana@example.com', role: 'admin' };
const olga = { id: 'c1a7d1c2-51f4-4d2b-9a4e-0d3f6a1b2c3d', email: 'olga@example.com' };
const operator: Actor = { ...olga, role: 'superadmin' };
const queue = { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11' };
const change = { action: 'update', resource: queue };
const origin = { ip: '203.0.113.7', userAgent: null, requestId: 'request-1' };

function auditOf(actor: Actor | null = ana, sink = captureAudit()) {
  return new RequestAudit({ sink, actor: () => actor, tenantId: () => null }, origin);
}

test('the actor is asked for anew with each event, so that authentication may come later', () => {
  let user: Actor | null = null;
  const sink = captureAudit();
  const audit = new RequestAudit({ sink, actor: () => user, tenantId: () => null }, origin);
  expect(audit.event(change).actor.role).toBe('anonymous');
  user = ana;
  expect(audit.event(change).actor.id).toBe(ana.id);
});

test('the middleware reads nothing but id, e-mail and role of a user object', () => {
  const user = { ...ana, passwordHash: 'secret', ip: '10.0.0.1' };
  const audit = auditOf(user);
  expect(audit.event(change).actor).toEqual({ ...ana, ip: '203.0.113.7', userAgent: null });
  audit.actor(user);
  expect(JSON.stringify(audit.event(change))).not.toContain('secret');
});

test("the event's own values come first: actor, tenant, reason, id", () => {
  const audit = auditOf({ ...operator, reason: 'Ticket 1', actingAs: ana });
  const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';
  const event = audit.event({ ...change, actor: ana, tenantId, reason: 'Ticket 2' });
  expect(event).toMatchObject({ actor: { id: ana.id }, tenantId, reason: 'Ticket 2' });
  expect(audit.event({ ...change, id: event.id }).id).toBe(event.id);
});

test('a tenant that the handler leaves undefined is the one of the request', () => {
  const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';
  const source = { sink: { record: () => {} }, actor: () => ana, tenantId: () => tenantId };
  const event = new RequestAudit(source, origin).event({ ...change, tenantId: undefined } as never);
  expect(event.tenantId).toBe(tenantId);
});

test('acting as another person is said in the reason, however the actor became known', () => {
  const asAna = `acting as ana@example.com (${ana.id})`;
  expect(auditOf({ ...operator, actingAs: ana }).event(change).reason).toBe(asAna);
  const audit = auditOf(ana);
  audit.actor(operator, { actingAs: ana, reason: 'Ticket 4711' });
  expect(audit.event(change)).toMatchObject({
    actor: { id: operator.id, role: 'superadmin' },
    reason: `Ticket 4711; ${asAna}`,
  });
  audit.actor(operator, { actingAs: { id: ana.id } });
  expect(audit.event(change).reason).toBe(`acting as ${ana.id}`);
});

test('a declared reason of any length is recorded, and never at the cost of as whom', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 60 }), (words) => {
      const sink = captureAudit();
      const reason = `${words.replaceAll('\0', '').toWellFormed()}𝒳`.padStart(1_100, '𝒳');
      const audit = auditOf({ ...operator, actingAs: ana, reason }, sink);
      sink.record(audit.event(change));
      expect(sink.events[0]?.reason).toMatch(/; acting as ana@example\.com \(7f9c.*\)$/s);
    }),
  );
});

test('the id holds the moment of the event: its timestamp, or now', () => {
  const sink = captureAudit();
  const timestamp = '2025-01-02T03:04:05.678Z';
  sink.record(auditOf().event({ ...change, timestamp }));
  expectAudited(sink, { timestamp });
  // Whether a time can be read is for the service to say.
  const unreadable = auditOf().event({ ...change, timestamp: 'yesterday' });
  expect(() => sink.record(unreadable)).toThrow(/timestamp is not a time as in/);
});

test('the moment of an event may be a Date, and its id is of that moment', () => {
  const timestamp = new Date(Date.now() - 60_000);
  const event = auditOf().event({ ...change, timestamp: timestamp as unknown as string });
  expect(uuidTimeMs(uuidFromEventId(event.id) ?? '')).toBe(timestamp.getTime());
  const sink = captureAudit();
  sink.record(event);
  expect(sink.events).toMatchObject([{ id: event.id, timestamp: timestamp.toISOString() }]);
});

test('a sink that fails, at once or later, is told apart from everything else that fails', async () => {
  const refusal = new IndelibleError({
    status: 401,
    code: 'unauthenticated',
    detail: 'the key has expired',
    requestId: null,
    errors: [{ path: '/action', code: 'required', message: 'is required' }],
  });
  const throwing = () => {
    throw refusal;
  };
  for (const record of [throwing, () => Promise.reject(refusal)]) {
    const source = { sink: { record }, actor: () => ana, tenantId: () => null };
    const error: unknown = await new RequestAudit(source, origin).record(change).catch((e) => e);
    expect(error).toBeInstanceOf(NotRecordedError);
    expect(error).toMatchObject({
      message: 'the audit event was not recorded (unauthenticated)',
      cause: refusal,
    });
    // A framework would answer with it.
    expect(error).not.toHaveProperty('status');
    // Most logs show no more of a cause than its message, which names no field.
    expect(error).toHaveProperty('errors', refusal.errors);
  }
  const faulty = {
    sink: captureAudit(),
    tenantId: () => null,
    actor: () => {
      throw new RangeError('no session store');
    },
  };
  await expect(new RequestAudit(faulty, origin).record(change)).rejects.toThrow(RangeError);
});

const headerValue = fc.stringMatching(/^[\t -~\u0080-\u00ff]{0,60}$/);
/** Any text, in the form of MCP for names that no header can hold. */
const mcpName = fc
  .string({ unit: anyCharacter, maxLength: 4 })
  .map((name) => `=?base64?${Buffer.from(name).toString('base64')}?=`);

test('no header of a stranger can keep an event from being recorded', () => {
  const options = { trustedProxies: 1, actorOf: () => ana };
  fc.assert(
    fc.property(headerValue, headerValue, headerValue, mcpName, (agent, forwarded, id, name) => {
      for (const proxyHeader of ['x-forwarded-for', 'forwarded'] as const) {
        const sink = captureAudit();
        const headers = new Headers({ 'user-agent': agent, [proxyHeader]: forwarded });
        headers.set('x-request-id', id);
        headers.set('mcp-session-id', agent);
        headers.set('mcp-method', 'tools/call');
        headers.set('mcp-name', name);
        const audit = fetchAudit({ ...options, proxyHeader, sink })({ headers });
        sink.record(audit.event(change));
        expect(audit.requestId).toMatch(/^[\w-]{8,64}$/);
      }
    }),
    { examples: [['', '', '', '=?base64?AA==?=']] },
  );
});

test('for standard requests the peer is what the server says, and wrong proxies fail at the start', () => {
  const sink = captureAudit();
  const of = fetchAudit({ sink, trustedProxies: ['10.0.0.0/8'] });
  const headers = new Headers({ 'x-forwarded-for': '203.0.113.7' });
  expect(of({ headers }, '10.1.2.3').ip).toBe('203.0.113.7');
  expect(of({ headers }, '192.0.2.1').ip).toBe('192.0.2.1');
  expect(of({ headers }).ip).toBeNull();
  expect(() => fetchAudit({ sink, trustedProxies: ['localhost'] })).toThrow(TypeError);
  expect(() => honoAudit({ sink, actorOf: () => null, trustedProxies: ['10.0.0.0/99'] })).toThrow(
    TypeError,
  );
});

test('Hono: the peer of another adapter is told by its getConnInfo', async () => {
  const sink = captureAudit();
  const app = new Hono<{ Variables: AuditVariables }>();
  const getConnInfo = () => ({ remote: { address: '2001:DB8::1' } });
  app.use(honoAudit({ sink, actorOf: () => ana, getConnInfo }));
  app.post('/', async (context) => context.text(await context.get('audit').record(change)));
  await app.request('/', { method: 'POST' });
  expectAudited(sink, { actor: { ip: '2001:db8::1' } });
  // Where nothing is known of the peer, nothing is claimed.
  const bare = new Hono<{ Variables: AuditVariables }>();
  bare.use(honoAudit({ sink, actorOf: () => ana }));
  bare.post('/', async (context) => context.text(await context.get('audit').record(change)));
  await bare.request('/', { method: 'POST', headers: { 'x-forwarded-for': '198.51.100.1' } });
  expectAudited(sink, { actor: { ip: null } });
});

test('Hono: actorOf reads a variable of its context, which needs no type', async () => {
  const sink = captureAudit();
  const app = new Hono<{ Variables: AuditVariables & { user: Actor } }>();
  app.use(honoAudit({ sink, actorOf: (context) => context.get('user') }));
  app.use(async (context, next) => {
    context.set('user', ana);
    await next();
  });
  app.post('/', async (context) => context.text(await context.get('audit').record(change)));
  await app.request('/', { method: 'POST' });
  expectAudited(sink, { actor: { id: ana.id } });
});

test('Fastify: an id of its own is the request id, its counter is not', async () => {
  const idOf = async (options: object) => {
    const app = fastify(options);
    app.register(fastifyAudit({ sink: captureAudit(), actorOf: () => ana }));
    app.get('/', async (request) => request.audit.requestId);
    const { body } = await app.inject('/');
    await app.close();
    return body;
  };
  expect(await idOf({ genReqId: () => 'trace-0123456789' })).toBe('trace-0123456789');
  expect(await idOf({})).toMatch(/^[0-9a-f-]{36}$/);
});

const withClaims = (claims: object | null, actor: Actor | null = ana) => {
  const source = { sink: captureAudit(), actor: () => actor, tenantId: () => null };
  return new RequestAudit({ ...source, claims: () => claims }, origin).event(change);
};

test('an operator’s agent is an operator, and of a long chain the person is never left out', () => {
  let act: object = { sub: 'first' };
  for (const sub of ['second', 'third', 'fourth', 'fifth', 'last']) act = { sub, act };
  const { actor, onBehalfOf } = withClaims({ act }, operator);
  expect(actor).toMatchObject({ externalId: 'last', role: 'superadmin', type: 'agent' });
  expect(onBehalfOf?.map(({ externalId, email }) => externalId ?? email)).toEqual([
    ...['fifth', 'fourth', 'third', olga.email],
  ]);
});

test('a token without the claim adds nothing; whatever the claim holds, no event is lost or taken for the person’s', () => {
  for (const claims of [null, {}, { act: null }]) {
    const event = withClaims(claims);
    expect([event.actor.type, event.onBehalfOf, event.via]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  }
  const capture = captureAudit();
  const hidden = { sub: 'a\u200b', name: ' \u200b' };
  const names = ['Bot\0', `${' '.repeat(900)}Bot`].map((name) => ({ name }));
  for (const act of [
    ...[{}, 'agent', true, []],
    { sub: 7 },
    hidden,
    ...names,
    { sub: 'x'.repeat(900), name: 'n'.repeat(900) },
  ]) {
    const event = withClaims({ act, azp: '\ud800'.repeat(900), sub: ana.id }, null);
    capture.record(event);
    expect(event.actor.type).toBe('agent');
    expect(event.onBehalfOf).toEqual([{ id: ana.id }]);
  }
  expect(capture.refusals).toEqual([]);
});

test('values of an MCP client are cut, read by the protocol’s rules, and completed by the handler', () => {
  const headers: Record<string, string> = {
    'mcp-method': 'tools/call',
    'mcp-session-id': 's'.repeat(900),
    'mcp-name': `=?base64?${Buffer.from('ändern').toString('base64')}?=`,
  };
  const audit = fetchAudit({ sink: captureAudit() })({ headers: new Headers(headers) });
  const sessionId = 's'.repeat(200);
  expect(audit.event(change).via).toEqual({ channel: 'mcp', tool: 'ändern', sessionId });
  const via = { channel: 'mcp', tool: 'update_queue' };
  expect(audit.event({ ...change, via }).via).toEqual({ ...via, sessionId });
  const listing = { 'mcp-method': 'resources/read', 'mcp-name': 'file:///x' };
  const other = fetchAudit({ sink: captureAudit() })({ headers: new Headers(listing) });
  expect(other.event(change).via).toEqual({ channel: 'mcp' });
});

test('own ids of the resource, of targets and of people become external ids too', () => {
  const capture = captureAudit();
  const audit = auditOf(ana, capture);
  const event = audit.event({
    action: 'update',
    resource: { type: 'queue', id: 'q_7', name: 'Sales' },
    targets: [queue, { type: 'agent', id: 'agent_7' }],
    onBehalfOf: [{ id: 'user_9', role: 'admin' }],
  });
  expect(event).toMatchObject({
    resource: { type: 'queue', externalId: 'q_7', name: 'Sales' },
    targets: [queue, { type: 'agent', externalId: 'agent_7' }],
    onBehalfOf: [{ externalId: 'user_9', role: 'admin' }],
  });
  capture.record(event);
  expect(capture.refusals).toEqual([]);
});

test('an id that is no UUID is the product’s own, of actors and of sessions', async () => {
  const capture = captureAudit();
  const audit = auditOf({ ...ana, id: 'user_123' }, capture);
  expect(audit.event(change).actor).toMatchObject({ externalId: 'user_123' });
  await audit.login({ ...ana, id: 'user_123' });
  expect(capture.refusals).toEqual([]);
});
