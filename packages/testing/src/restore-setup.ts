import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach } from 'vitest';
import type { Environment } from '../../server/src/config.ts';
import { recordOne } from './event-pool.ts';
import { expectLogIntact } from './intact.ts';
import { restoringHost } from './restoring-host.ts';
import { type Answer, eventOf, type TestService, testService } from './service.ts';

export const ivr = { type: 'ivr', id: '2f6d7f0e-8a8e-4c0b-b1c5-40a2e3f7d911', name: 'Main menu' };

export type Host = Awaited<ReturnType<typeof restoringHost>>;

interface RestoringTenant {
  id: string;
  /** Records, reads and restores. */
  key: string;
  host: Host;
}

/** A tenant whose host product listens on loopback. */
export async function restoringTenant(service: TestService): Promise<RestoringTenant> {
  const host = await restoringHost(() => service.clock.now);
  const id = randomUUID();
  const put = { name: 'Acme', plan: 'Pro', restoreUrl: host.url };
  const { body } = await service.call({ method: 'PUT', url: `/api/tenants/${id}`, body: put });
  host.secret = body.restoreSecret;
  const key = await keyOf(service, id, ['events:write', 'events:read', 'restore:write']);
  return { id, key, host };
}

/** A service; each test has a tenant of its own, whose log must be intact at its end. */
export async function restoringService(env: Environment = {}) {
  const service = await testService({ WEBHOOK_ALLOW_PRIVATE: 'true', ...env });
  const tenant = {} as RestoringTenant;
  beforeEach(async () => void Object.assign(tenant, await restoringTenant(service)));
  afterEach(async () => {
    await expectLogIntact(service, tenant.id);
  });
  return { service, tenant };
}

export async function keyOf(service: TestService, id: string, scopes: string[]): Promise<string> {
  const url = `/api/tenants/${id}/api-keys`;
  const { body } = await service.call({ method: 'POST', url, body: { name: 'key', scopes } });
  return body.key;
}

/** Records a change of the menu and returns the event's id. */
export async function recordChange(
  service: TestService,
  { key }: { key: string },
  changes: Record<string, unknown> = {},
): Promise<string> {
  const states = { before: { steps: ['Welcome'] }, after: { steps: ['Hello'] } };
  const body = eventOf({ resource: ivr, diff: undefined, ...states, ...changes });
  return (await recordOne(service, key, body)).id;
}

export function restore(
  service: TestService,
  key: string,
  eventId: string,
  to = 'before',
  headers: Record<string, string> = {},
): Promise<Answer> {
  const url = `/api/audit-logs/${eventId}/restore`;
  return service.call({ method: 'POST', url, key, body: { to }, headers });
}

export function restoreFields(
  service: TestService,
  key: string,
  eventId: string,
  fields: string[],
): Promise<Answer> {
  const url = `/api/audit-logs/${eventId}/restore`;
  return service.call({ method: 'POST', url, key, body: { to: 'before', fields } });
}

export function restoreOf(service: TestService, key: string, id: string): Promise<Answer> {
  return service.call({ url: `/api/audit-logs/restores/${id}`, key });
}

/** Runs all attempts of this service, moving the clock past each pause. */
export async function exhaust(
  service: TestService,
  { jobs }: Pick<TestService['app'], 'jobs'> = service.app,
): Promise<void> {
  for (let attempt = 0; attempt < 6; attempt++) {
    service.clock.now += 31_000;
    await jobs.tick('restore');
  }
}

/** The log's records of restores, oldest first. */
export async function restoresIn(service: TestService, { key }: { key: string }) {
  const query = `action=restore&resource_id=${ivr.id}&include=state&sort=sequence&limit=500`;
  const { body } = await service.call({ url: `/api/audit-logs?${query}`, key });
  return body.data;
}

export const outcomesIn = async (service: TestService, tenant: { key: string }) =>
  (await restoresIn(service, tenant)).map((e: { after: { outcome: string } }) => e.after.outcome);
