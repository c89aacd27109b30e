import { countConnections } from '@indelible/testing/http-receiver';
import { callOn, serviceOn, testService } from '@indelible/testing/service';
import { hookedTenant, webhooksUrl } from '@indelible/testing/webhook-setup';
import { afterAll, expect, onTestFinished, test } from 'vitest';

/* Which receivers are called at all: as in production, without WEBHOOK_ALLOW_PRIVATE. */

const service = await testService();
const tenant = await hookedTenant(service);
afterAll(() => tenant.receiver.close());

const post = (url: string, app = service.app) =>
  callOn(app, { method: 'POST', url: webhooksUrl, key: tenant.key, body: { url } });

// outbound.test.ts has every spelling of an address.
test.each(['https://10.0.0.8', 'https://[::ffff:8.8.8.8]', 'http://hooks.example'])(
  'a webhook to %s is refused when it is made',
  async (origin) => {
    const { status, body } = await post(`${origin}/hook`);
    expect([status, body.errors[0].path]).toEqual([422, '/url']);
    expect(body.errors[0].message).toContain(origin.startsWith('https') ? 'public' : 'https');
  },
);

const notPublic = 'its address is not a public one';

test('a name is judged whenever it is connected to, in tests and deliveries, whatever it was before', async () => {
  const { sockets, port } = await countConnections();
  const gone = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
  // It has no address while the webhook is made, and
  // a private one, alone or among others, afterwards.
  const addresses: string[][] = [['127.0.0.1'], ['8.8.8.8', '127.0.0.1'], ['::ffff:127.0.0.1'], []];
  let looks = 0;
  const resolve = async () => {
    looks += 1;
    if (looks === 1) throw gone;
    const found = addresses[(looks - 2) % addresses.length] ?? [];
    return found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  const { app, close } = await serviceOn(service.servingUrl, service.clock, {}, 4, {}, { resolve });
  onTestFinished(close);
  const made = await post(`https://hooks.example:${port}/`, app);
  expect(made.status).toBe(201);
  const url = `${webhooksUrl}/${made.body.id}`;
  const test = () => callOn(app, { method: 'POST', url: `${url}/test`, key: tenant.key });
  expect((await test()).body.reason).toBe('its name cannot be resolved');
  for (const _ of addresses) expect((await test()).body.reason).toBe(notPublic);
  // Its own making is behind it; this is the first event that is due.
  await callOn(app, { method: 'PATCH', url, key: tenant.key, body: { name: 'Rebinding' } });
  await app.webhooks.tick();
  const { body } = await callOn(app, { url, key: tenant.key });
  expect(body).toMatchObject({
    attempt: 1,
    lastDelivery: { type: 'audit.events.recorded', status: 'failed', reason: notPublic },
  });
  expect([looks, sockets]).toEqual([addresses.length + 2, []]);
});

test('an address that was allowed when the webhook was made is refused once it is not any more', async () => {
  const allowed = await serviceOn(service.servingUrl, service.clock, {
    WEBHOOK_ALLOW_PRIVATE: 'true',
  });
  onTestFinished(allowed.close);
  const made = await post(tenant.receiver.url, allowed.app);
  expect(made.status).toBe(201);
  const url = `${webhooksUrl}/${made.body.id}/test`;
  const call = { method: 'POST', url, key: tenant.key } as const;
  expect((await callOn(allowed.app, call)).body.ok).toBe(true);
  expect((await callOn(service.app, call)).body).toMatchObject({
    ok: false,
    status: null,
    reason: 'its URL does not begin with https',
  });
  expect(tenant.receiver.calls).toHaveLength(1);
});
