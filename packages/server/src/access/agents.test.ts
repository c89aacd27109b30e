import { randomUUID } from 'node:crypto';
import { externalUuid } from '@indelible/protocol';
import { Browser } from '@indelible/testing/browser';
import { eraseNow } from '@indelible/testing/erasure-setup';
import { askForJob, exportsUrl } from '@indelible/testing/exports';
import { expectLogIntact } from '@indelible/testing/intact';
import { recordChange, restore, restoringTenant } from '@indelible/testing/restore-setup';
import { testService } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import { afterAll, expect, test } from 'vitest';

/* An agent uses a person's token (RFC 8693): the log says that the agent acts for the person. */

const service = await testService({ AUTH_JWT_SECRET: jwtSecret, WEBHOOK_ALLOW_PRIVATE: 'true' });
const tenant = await restoringTenant(service);
const eventId = await recordChange(service, tenant);
afterAll(async () => {
  await expectLogIntact(service, tenant.id);
});

const ana = { id: randomUUID(), email: 'ana@example.com', role: 'admin', type: 'user' };
const olga = { id: randomUUID(), email: 'olga@operator.example', role: 'superadmin', type: 'user' };
const gateway = { externalId: 'gateway', type: 'agent' };
const idOf = (externalId: string) => externalUuid(tenant.id, 'actor', externalId);

/** A token of this person that an agent got through a gateway. */
function agentsToken({ id: sub, email, role }: typeof ana, agent: string): Promise<string> {
  const act = { sub: agent, name: 'Planner', act: { sub: 'gateway' } };
  const tenantId = role === 'admin' ? tenant.id : undefined;
  return token({ sub, email, role, tenantId, act }, service.clock.now);
}

/** What the service has recorded of this agent, oldest first. */
async function recorded(agent: string) {
  const url = `/api/audit-logs?user=${agent}&sort=sequence&limit=500`;
  return (await service.call({ url, key: tenant.key })).body.data;
}

const partiesOf = (agent: string, person: typeof ana) => ({
  actor: {
    id: idOf(agent),
    externalId: agent,
    name: 'Planner',
    type: 'agent',
    email: null,
    role: person.role,
    ip: '127.0.0.1',
  },
  onBehalfOf: [{ ...gateway, id: idOf('gateway') }, person],
});

test('exports, restores, evidence and sessions by an agent name it and its person, outcomes too', async () => {
  const key = await agentsToken(ana, 'planner');
  const post = (url: string, body: object) => service.call({ method: 'POST', url, key, body });
  await post(exportsUrl, { filters: {}, format: 'csv' });
  await askForJob(service, key);
  await service.app.jobs.tick('export');
  await post('/api/audit-logs/searches', { filters: {} });
  await restore(service, key, eventId);
  const visitor = new Browser(service.app);
  await visitor.signIn({ jwt: key });
  await visitor.call({ method: 'POST', url: exportsUrl, body: { filters: {}, format: 'csv' } });

  const events = await recorded('planner');
  const actions = events.map(({ action }: { action: string }) => action);
  expect(actions).toEqual([
    ...['access', 'export', 'access', 'export', 'search', 'restore', 'restore'],
    ...['login', 'access', 'export'],
  ]);
  const { actor, onBehalfOf } = partiesOf('planner', ana);
  for (const event of events) {
    // A worker has no address.
    expect(event).toMatchObject({ actor: { ...actor, ip: event.actor.ip }, onBehalfOf });
  }
  expect(tenant.host.calls[0]?.body.requestedBy).toEqual({
    id: ana.id,
    email: ana.email,
    role: 'admin',
    agents: [
      { id: idOf('planner'), externalId: 'planner', name: 'Planner' },
      { id: idOf('gateway'), externalId: 'gateway' },
    ],
  });
});

test('an operator’s agent is recorded as an operator’s: looks, refusals, and what the panel shows it', async () => {
  const key = await agentsToken(olga, 'scout');
  const headers = { 'x-tenant-id': tenant.id };
  const url = '/api/audit-logs';
  expect((await service.call({ url, key, headers })).status).toBe(403);
  const declared = { ...headers, 'x-access-reason': 'Ticket%204711' };
  expect((await service.call({ url, key, headers: declared })).status).toBe(200);
  const visitor = new Browser(service.app);
  const signIn = { jwt: key, tenantId: tenant.id };
  expect((await visitor.signIn(signIn)).status).toBe(403);
  expect((await visitor.signIn({ ...signIn, reason: 'Ticket 4711' })).status).toBe(200);
  expect((await visitor.call({ url })).status).toBe(200);
  // Another agent's look is another look, within the time that a record stands for the same one.
  const other = await agentsToken(olga, 'other');
  expect((await service.call({ url, key: other, headers: declared })).status).toBe(200);

  const events = await recorded('scout');
  expect(events.map(({ action }: { action: string }) => action)).toEqual([
    ...['access', 'access', 'login_failed', 'login', 'access'],
  ]);
  for (const event of events) {
    expect(event).toMatchObject({ ...partiesOf('scout', olga), crossTenant: true });
  }
  expect(await recorded('other')).toMatchObject([
    { ...partiesOf('other', olga), action: 'access' },
  ]);
});

test('the erasure of an agent reaches exports, restores and sessions, and leaves its id', async () => {
  const key = await agentsToken(ana, 'erased');
  await askForJob(service, key);
  await service.app.jobs.tick('export');
  await restore(service, key, eventId);
  await new Browser(service.app).signIn({ jwt: key });
  const left = async () => {
    const { rows } = await service.owner.query<{ row: string }>(
      `SELECT to_jsonb(e)::text AS row FROM exports e UNION ALL
       SELECT to_jsonb(r)::text FROM restores r UNION ALL SELECT to_jsonb(s)::text FROM sessions s`,
    );
    return rows.map(({ row }) => row);
  };
  const naming = async (text: string) => (await left()).filter((row) => row.includes(text)).length;
  expect([await naming('"erased"'), await naming(idOf('erased'))]).toEqual([3, 3]);
  await eraseNow(service, { tenantId: tenant.id, actor: idOf('erased') });
  expect([await naming('"erased"'), await naming(idOf('erased'))]).toEqual([0, 2]);
  // Other agents, and for whom the erased one acted, stay.
  expect(await naming('"planner"')).toBeGreaterThan(0);
  expect(await naming(ana.email)).toBeGreaterThan(0);
});
