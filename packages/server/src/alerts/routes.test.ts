import { rulesUrl, watchedService, watchedTenant } from '@indelible/testing/alert-setup';
import { pathsOf } from '@indelible/testing/answers';
import { keyOf } from '@indelible/testing/restore-setup';
import { expect, test } from 'vitest';

const { service, tenant, alerts } = await watchedService();

const rule = { name: 'Rule', kind: 'match', filters: {} };
const list = async () => (await alerts.call('GET', '')).body.data;

test('a rule is made, shown, changed and removed, and the log tells of it', async () => {
  const made = await alerts.create({ filters: { action: ['publish'], user: 'user_7' } });
  expect(made).toMatchObject({ builtIn: null, version: 1, enabled: true, mutedUntil: null });
  expect((await alerts.call('GET', `/${made.id}`)).body).toEqual(made);
  expect((await list())[0]).toEqual(made);
  service.clock.now += 5;
  const changed = await alerts.call('PUT', `/${made.id}`, {
    kind: 'threshold',
    count: 5,
    windowMinutes: 10,
    groupBy: 'actor',
    enabled: false,
  });
  expect(changed.body).toMatchObject({ name: 'Published', count: 5, version: 2, enabled: false });
  expect((await alerts.call('PUT', `/${made.id}`, { enabled: false })).body.version).toBe(2);
  const together = await alerts.call('PUT', `/${made.id}`, { groupBy: null });
  expect(together.body).not.toHaveProperty('groupBy');
  expect((await alerts.call('PUT', `/${made.id}`, { kind: 'match' })).body).not.toHaveProperty(
    'count',
  );
  expect((await alerts.call('DELETE', `/${made.id}`)).status).toBe(204);
  expect((await alerts.call('GET', `/${made.id}`)).status).toBe(404);
  const url = '/api/audit-logs?resource=alert_rule&sort=sequence';
  const { body } = await service.call({ url, key: tenant.key });
  const actions = body.data.map(({ action }: { action: string }) => action);
  expect(actions).toEqual(['create', 'update', 'update', 'update', 'delete']);
});

test('a built-in rule is there, off, is switched on, and becomes as it was when it is removed', async () => {
  const [builtIn] = (await list()).filter((each: { builtIn: string | null }) => each.builtIn);
  expect(builtIn).toMatchObject({ enabled: false, version: 0, createdAt: null });
  const on = await alerts.call('PUT', `/${builtIn.id}`, { enabled: true });
  expect(on.body).toMatchObject({ id: builtIn.id, enabled: true, version: 1 });
  expect(await list()).toContainEqual(on.body);
  const renamed = await alerts.call('PUT', `/${builtIn.id}`, { name: 'Mine', filters: {} });
  expect([renamed.status, pathsOf(renamed)]).toEqual([422, ['/name', '/filters']]);
  await alerts.call('DELETE', `/${builtIn.id}`);
  expect(await list()).toContainEqual(builtIn);
});

test('a wrong rule is refused with all its problems at once', async () => {
  const post = async (body: object) => {
    const answer = await alerts.call('POST', '', body);
    expect(answer.status).toBe(422);
    return pathsOf(answer).sort();
  };
  const wrong = { count: 1, groupBy: 'actor', filters: { action: 'A b', from: '2026-01-01' } };
  expect(await post({ ...rule, kind: 'threshold', ...wrong })).toEqual([
    ...['/count', '/filters/action', '/filters/from', '/windowMinutes'],
  ]);
  expect(await post({ ...rule, count: 3, lookbackDays: 3, groupBy: 'ip' })).toEqual([
    ...['/count', '/groupBy', '/lookbackDays'],
  ]);
  expect(await post({ ...rule, kind: 'first_seen', lookbackDays: 91 })).toEqual([
    ...['/groupBy', '/lookbackDays'],
  ]);
  expect(await post({ ...rule, kind: 'first_seen', groupBy: null })).toEqual(['/groupBy']);
  expect(await post({ ...rule, followedBy: { action: 'login' } })).toEqual(['/followedBy']);
  const threshold = { ...rule, kind: 'threshold', count: 3, windowMinutes: 5 };
  expect(await post({ ...threshold, followedBy: { action: 'A b', to: '2026-01-01' } })).toEqual([
    ...['/followedBy/action', '/followedBy/to'],
  ]);
  expect(await post({ ...rule, kind: 'rate', name: ' ', notify: { emails: ['x'] } })).toEqual([
    ...['/kind', '/name', '/notify/emails/0'],
  ]);
});

test('a rule names only webhooks of its tenant that take alerts; one that goes later stays named', async () => {
  const [mine, other] = await Promise.all(
    [tenant.id, (await watchedTenant(service)).id].map(async (id) => {
      const key = await keyOf(service, id, ['events:read', 'webhooks:write']);
      const make = async (types: string[]) => {
        const body = { url: 'https://hooks.example.com', types };
        return (await service.call({ method: 'POST', url: '/api/webhooks', key, body })).body.id;
      };
      const remove = (hook: string) =>
        service.call({ method: 'DELETE', url: `/api/webhooks/${hook}`, key });
      const types = ['audit.alert.raised', 'audit.events.recorded'];
      return { alerts: await make(types), events: await make(types.slice(1)), remove };
    }),
  );
  if (!mine || !other) throw new Error('there are two tenants');
  const named = (...webhookIds: string[]) => ({ ...rule, notify: { webhookIds } });
  const refused = await alerts.call('POST', '', named(mine.alerts, mine.events, other.alerts));
  const paths = ['/notify/webhookIds/1', '/notify/webhookIds/2'];
  expect([refused.status, pathsOf(refused)]).toEqual([422, paths]);
  const { id } = await alerts.create(named(mine.alerts));
  await mine.remove(mine.alerts);
  const changes = { name: 'Renamed', notify: { emails: [], webhookIds: [mine.alerts] } };
  expect((await alerts.call('PUT', `/${id}`, changes)).status).toBe(200);
  const more = { notify: { webhookIds: [mine.alerts, other.alerts] } };
  expect((await alerts.call('PUT', `/${id}`, more)).status).toBe(422);
});

test('a key that may change rules may acknowledge, without seeing an event', async () => {
  const { id } = await alerts.create();
  await alerts.record({});
  await alerts.evaluate();
  const [alert] = await alerts.log();
  const key = await keyOf(service, tenant.id, ['alerts:write']);
  const url = `${rulesUrl}/${id}`;
  const body = { alertId: alert.id };
  const seen = await service.call({ method: 'POST', url: `${url}/acknowledge`, key, body });
  expect(seen.status, seen.text).toBe(200);
  expect(Object.keys(seen.body).sort()).toEqual(['acknowledgedAt', 'alertId']);
  const test = { method: 'POST', url: `${url}/test`, key, body: { since: '2026-01-01' } } as const;
  expect((await service.call(test)).status).toBe(403);
});

test('a tenant has at most a hundred rules of its own', async () => {
  await service.owner.query(
    `INSERT INTO alert_rules (tenant_id, id, settings, enabled, from_sequence, created_at, updated_at)
     SELECT $1, gen_random_uuid(), $2, false, 0, now(), now() FROM generate_series(1, 100)`,
    [tenant.id, JSON.stringify({ ...rule, notify: {} })],
  );
  expect((await alerts.call('POST', '', rule)).status).toBe(409);
});

test('muting and acknowledging are recorded, acknowledging once', async () => {
  const { id } = await alerts.create();
  const until = new Date(service.clock.now + 3_600_000).toISOString();
  expect((await alerts.call('POST', `/${id}/mute`, { until })).body.mutedUntil).toBe(until);
  await alerts.record({});
  await alerts.evaluate();
  expect(await alerts.log('notify'), 'a muted rule').toEqual([]);
  expect((await alerts.call('POST', `/${id}/mute`, { until: null })).body.mutedUntil).toBeNull();
  const past = new Date(service.clock.now).toISOString();
  expect((await alerts.call('POST', `/${id}/mute`, { until: past })).status).toBe(422);

  const [alert] = await alerts.log();
  const body = { alertId: alert.id, note: 'Expected' };
  const [first, again] = [
    await alerts.call('POST', `/${id}/acknowledge`, body),
    await alerts.call('POST', `/${id}/acknowledge`, body),
  ];
  expect(first).toMatchObject({ status: 200, body: { alertId: alert.id } });
  expect(again.body).toEqual(first.body);
  const records = await alerts.log('acknowledge');
  expect(records).toMatchObject([{ correlationId: alert.id, after: { note: 'Expected' } }]);
  const other = await alerts.create();
  expect((await alerts.call('POST', `/${other.id}/acknowledge`, body)).status).toBe(404);
});
