import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { platformKey, testService } from '@indelible/testing/service';
import { afterAll, describe, expect, test } from 'vitest';
import { createClient } from '../client.ts';
import { type Act, asUser, type User } from './testing/host-rules.ts';
import { type Host, hosts } from './testing/hosts.ts';
import { callFrom, type LoopbackCall, startProxy } from './testing/loopback.ts';

/* Each framework's real server in front of a real service. */

const service = await testService();
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });
const tenant = await service.tenant();
const requestIds: (string | null)[] = [];
const sink = createClient({
  url,
  key: platformKey,
  attempts: 1,
  fetch: (address, init) => {
    requestIds.push(new Headers(init?.headers).get('x-request-id'));
    return fetch(address, init);
  },
});
const reader = createClient({ url, key: tenant.key, tenantId: tenant.id });

const nilId = '00000000-0000-0000-0000-000000000000';
const machine = '127.0.0.9';
const proxyAddress = '127.0.0.2';

const userNamed = (name: string, changes: Partial<User> = {}): User => ({
  id: randomUUID(),
  email: `${name}@example.com`,
  role: 'admin',
  tenantId: tenant.id,
  passwordHash: 'never leaves the host',
  ...changes,
});
const ana = userNamed('ana');
const olga = userNamed('olga', { role: 'superadmin' });

/** Holds visitors until as many as expected are there, or until it is opened. */
function newGate() {
  const opened = Promise.withResolvers<void>();
  const someone = Promise.withResolvers<void>();
  let awaited = 1;
  return {
    open: opened.resolve,
    someone: someone.promise,
    expect(count: number) {
      awaited = count;
    },
    arrived: async () => {
      awaited -= 1;
      someone.resolve();
      if (awaited === 0) opened.resolve();
      await opened.promise;
    },
  };
}

describe.each(Object.keys(hosts))('%s', (framework) => {
  const start = hosts[framework];
  if (!start) throw new Error('no such framework');
  const running: { close(): Promise<void> }[] = [];
  afterAll(async () => {
    for (const each of running) await each.close();
  });
  const started = async (options: { trusted?: string; gate?: ReturnType<typeof newGate> } = {}) => {
    const { gate = newGate(), ...rest } = options;
    const host: Host = await start({ sink, gate, ...rest });
    running.unshift(host);
    return host;
  };
  const plain = started();
  const behind = started({ trusted: proxyAddress });
  const proxy = behind.then(async (host) => {
    const each = await startProxy(host.url, proxyAddress);
    running.unshift(each);
    return each;
  });

  type Asked = Partial<Act> & Omit<LoopbackCall, 'from' | 'body'> & { from?: string };
  const ask = async (
    at: Promise<{ url: string }>,
    { from = machine, headers, signal, ...more }: Asked,
  ) => {
    const body = { what: 'update', queueId: randomUUID(), ...more };
    const call = { from, body, headers: headers ?? asUser(ana), ...(signal ? { signal } : {}) };
    return callFrom(`${(await at).url}/act`, call);
  };
  /** The event of an answer, as the service stored it. */
  const storedBy = async (asked: Promise<{ status: number; body: { id: string } }>) => {
    const { status, body } = await asked;
    expect(status).toBeLessThan(300);
    return reader.get(body.id);
  };

  test('an event names who is signed in, from where and with what, and nothing else of a user', async () => {
    const event = await storedBy(ask(plain, {}));
    const { id, email, role } = ana;
    expect(event.actor).toEqual({ id, email, role, ip: machine, userAgent: `agent of ${machine}` });
    expect(event).toMatchObject({
      tenantId: tenant.id,
      action: 'update',
      reason: null,
      diff: { maxWaitSeconds: { from: 30, to: 60 } },
    });
  });

  test('addresses in headers are ignored where no proxy is trusted', async () => {
    const headers = {
      ...asUser(ana),
      'x-forwarded-for': '198.51.100.1',
      forwarded: 'for=198.51.100.1',
      'x-real-ip': '198.51.100.1',
    };
    expect((await storedBy(ask(plain, { headers }))).actor.ip).toBe(machine);
    // The application trusts a proxy, but this is not it.
    expect((await storedBy(ask(behind, { headers, from: '127.0.0.3' }))).actor.ip).toBe(
      '127.0.0.3',
    );
  });

  test('behind the proxy the client is who the proxy saw, whatever that one wrote in front', async () => {
    expect((await storedBy(ask(proxy, {}))).actor.ip).toBe(machine);
    for (const claim of ['198.51.100.1', 'unknown, 198.51.100.1', '::1', `${proxyAddress}, x`]) {
      const headers = { ...asUser(ana), 'x-forwarded-for': claim };
      expect((await storedBy(ask(proxy, { headers }))).actor.ip).toBe(machine);
    }
  });

  test('no user signed in is the nil UUID', async () => {
    const { body } = await ask(plain, { what: 'event', headers: {} });
    expect(body.event.actor).toEqual({
      id: nilId,
      email: null,
      role: 'anonymous',
      ip: machine,
      userAgent: `agent of ${machine}`,
    });
    expect(body.event).not.toHaveProperty('tenantId');
    expect(body.event).not.toHaveProperty('reason');
  });

  test('under impersonation the true actor is recorded, and the reason says as whom', async () => {
    const actingAs = { id: ana.id, email: ana.email };
    const asked = { what: 'impersonate', user: olga, actingAs } as const;
    const event = await storedBy(ask(plain, asked));
    expect(event.actor).toMatchObject({ id: olga.id, email: olga.email, role: 'superadmin' });
    expect(event).toMatchObject({
      crossTenant: true,
      reason: `acting as ana@example.com (${ana.id})`,
    });
    const declared = await storedBy(ask(plain, { ...asked, reason: 'Ticket 4711' }));
    expect(declared.reason).toBe(`Ticket 4711; acting as ana@example.com (${ana.id})`);
    // The next request of the same person is their own again.
    expect((await storedBy(ask(plain, {}))).actor.id).toBe(ana.id);
  });

  test('an agent that acts for a person over MCP is recorded as the actor, for the person, with its tool', async () => {
    const act = {
      sub: 'https://agent.example/assistant',
      name: 'Assistant',
      act: { sub: 'gateway' },
    };
    const headers = {
      ...asUser(ana),
      'x-claims': JSON.stringify({ sub: ana.id, client_id: 'desktop-app', act }),
      'mcp-protocol-version': '2026-07-28',
      'mcp-session-id': 'session-1',
      'mcp-method': 'tools/call',
      'mcp-name': 'change_queue',
    };
    const event = await storedBy(ask(plain, { headers }));
    expect(event.actor).toMatchObject({
      externalId: act.sub,
      name: 'Assistant',
      type: 'agent',
      role: 'admin',
      email: null,
      ip: machine,
    });
    const { id, email, role } = ana;
    expect(event.onBehalfOf).toMatchObject([
      { externalId: 'gateway', type: 'agent' },
      { id, email, role, type: 'user' },
    ]);
    expect(event.via).toEqual({
      channel: 'mcp',
      clientId: 'desktop-app',
      tool: 'change_queue',
      sessionId: 'session-1',
    });
  });

  test('signing in names who did; a failure names an address, and never what else was typed', async () => {
    const login = await storedBy(ask(plain, { what: 'login', user: ana }));
    expect(login).toMatchObject({ action: 'login', category: 'security', actor: { id: ana.id } });
    const failed = (email: string) => storedBy(ask(plain, { what: 'login_failed', email }));
    expect(await failed('bob@example.com')).toMatchObject({
      action: 'login_failed',
      actor: { id: nilId, email: 'bob@example.com', ip: machine },
    });
    for (const typed of [
      'hunter2',
      'a b@c',
      `${'x'.repeat(400)}@example.com`,
      '\u0000@x',
      '\ud800@x',
    ]) {
      const event = await failed(typed);
      expect(event.actor.email).toBeNull();
      expect(JSON.stringify(event)).not.toContain(JSON.stringify(typed).slice(1, -1));
    }
  });

  test('a request id that may travel reaches handler and service; any other is replaced', async () => {
    const withId = async (id: string) => {
      const { body } = await ask(plain, { headers: { ...asUser(ana), 'x-request-id': id } });
      expect(requestIds.at(-1)).toBe(body.requestId);
      return body.requestId;
    };
    expect(await withId('checkout-4711')).toBe('checkout-4711');
    expect(await withId('<script>alert(1)</script>')).toMatch(/^[0-9a-f-]{36}$/);
    expect(await withId('x'.repeat(65))).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('requests at the same time share nothing', async () => {
    const gate = newGate();
    const host = started({ gate });
    const people = Array.from({ length: 20 }, (_, index) => userNamed(`user-${index}`));
    gate.expect(people.length);
    const events = await Promise.all(
      people.map((user, index) => {
        const headers = { ...asUser(user), 'user-agent': `agent ${index}` };
        return storedBy(ask(host, { headers, waits: true, from: `127.0.1.${index + 1}` }));
      }),
    );
    expect(events.map(({ actor }) => [actor.id, actor.ip, actor.userAgent])).toEqual(
      people.map(({ id }, index) => [id, `127.0.1.${index + 1}`, `agent ${index}`]),
    );
  });

  test('a caller who hangs up before the event is made is recorded with their address', async () => {
    const gate = newGate();
    const host = await started({ gate });
    const gone = Promise.withResolvers<void>();
    host.server.once('connection', (socket) => socket.once('close', () => gone.resolve()));
    const hangUp = new AbortController();
    const queueId = randomUUID();
    const asked = ask(Promise.resolve(host), { queueId, waits: true, signal: hangUp.signal });
    gate.expect(2);
    await gate.someone;
    hangUp.abort();
    await expect(asked).rejects.toThrow();
    await gone.promise;
    const answered = once(service.app.http.server, 'request');
    gate.open();
    const [, answer] = await answered;
    await once(answer, 'close');
    const [event] = (await reader.page({ resourceId: queueId })).data;
    expect(event?.actor.ip).toBe(machine);
  });

  test('when the handler fails afterwards, what was recorded stays', async () => {
    const queueId = randomUUID();
    expect((await ask(plain, { what: 'fail', queueId })).status).toBe(500);
    expect((await reader.page({ resourceId: queueId })).data).toHaveLength(1);
  });

  test('an event that is awaited and not recorded fails the request, as the fault of the host', async () => {
    const { status, body } = await ask(plain, { what: 'refused' });
    expect(status).toBe(500);
    expect(JSON.stringify(body)).not.toContain('/action');
  });
});

test('NestJS: a guard can record whom it turns away', async () => {
  const host = await hosts.NestJS?.({ sink, gate: newGate() });
  if (!host) throw new Error('no such framework');
  const recording = randomUUID();
  const headers = { ...asUser(ana), 'x-blocked': recording };
  const { status } = await callFrom(`${host.url}/act`, { from: machine, headers });
  await host.close();
  expect(status).toBe(403);
  const [event] = (await reader.page({ resourceId: recording })).data;
  expect(event).toMatchObject({ action: 'read', actor: { id: ana.id, ip: machine } });
});
