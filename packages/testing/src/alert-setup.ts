import { beforeEach, expect } from 'vitest';
import type { Environment } from '../../server/src/config.ts';
import { recordAll } from './event-pool.ts';
import { keyOf } from './restore-setup.ts';
import { eventOf, type TestService, testService } from './service.ts';

export const rulesUrl = '/api/alert-rules';

interface WatchedTenant {
  id: string;
  /** Records, reads, and manages rules. */
  key: string;
}

export async function watchedTenant(service: TestService, plan = 'Pro'): Promise<WatchedTenant> {
  const { id } = await service.tenant(plan);
  return { id, key: await keyOf(service, id, ['events:write', 'events:read', 'alerts:write']) };
}

/** A service; each test has a tenant of its own, a day after that of the test before. */
export async function watchedService(env: Environment = {}) {
  const service = await testService(env);
  const tenant = {} as WatchedTenant;
  /** The test goes on with a new tenant. */
  const watch = async (plan = 'Pro') =>
    void Object.assign(tenant, await watchedTenant(service, plan));
  beforeEach(async () => {
    service.clock.now += 86_400_000;
    await watch();
  });
  return { service, tenant, alerts: alertCalls(service, tenant), watch };
}

/** Calls of one tenant's key. */
export function alertCalls(service: TestService, tenant: WatchedTenant) {
  const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) =>
    service.call({ method, url: `${rulesUrl}${path}`, key: tenant.key, ...(body ? { body } : {}) });
  return {
    call,
    /** A rule; by default each `publish` sets it off. */
    async create(changes: object = {}) {
      const rule = { name: 'Published', kind: 'match', filters: { action: 'publish' }, ...changes };
      const { status, body, text } = await call('POST', '', rule);
      expect(status, text).toBe(201);
      return body;
    },
    /** Records events; returns them in the order of the log. */
    record(...changes: Record<string, unknown>[]) {
      const events = changes.map((each) => eventOf({ action: 'publish', ...each }));
      return recordAll(service, tenant.key, events);
    },
    /** The log's events about alerts with this action, oldest first, with their states. */
    async log(action = 'raise') {
      const url = `/api/audit-logs?action=${action}&resource=alert&sort=sequence&order=asc&limit=500`;
      const { key } = tenant;
      const { body } = await service.call({ url, key });
      const whole = [];
      for (const { id } of body.data) {
        whole.push((await service.call({ url: `/api/audit-logs/${id}`, key })).body);
      }
      return whole;
    },
    evaluate: () => service.app.alerts.tick(),
  };
}
