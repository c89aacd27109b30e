import { afterEach, beforeEach } from 'vitest';
import type { Environment } from '../../server/src/config.ts';
import { expectLogIntact } from './intact.ts';
import { type Answer, eventOf, testService } from './service.ts';

const url = '/api/audit-logs';

/**
 * A service; each test has a tenant of its own, whose log must be intact at its end. `record`,
 * `recordBatch` and `read` are calls of the tenant's key, or of another one.
 */
export async function recordingService(env: Environment = {}) {
  const service = await testService(env);
  const tenant = { id: '', key: '' };
  /** The test goes on with another tenant. */
  const goOnWith = async (plan: string) => void Object.assign(tenant, await service.tenant(plan));
  beforeEach(() => goOnWith('Enterprise'));
  afterEach(async () => {
    await expectLogIntact(service, tenant.id);
  });
  const post = (path: string, key: string, body: unknown): Promise<Answer> =>
    service.call({ method: 'POST', url: `${url}${path}`, key, body });
  return {
    service,
    tenant,
    goOnWith,
    /** An event with these changes. */
    record: (changes: Record<string, unknown> = {}, key = tenant.key) =>
      post('', key, eventOf(changes)),
    recordBatch: (events: unknown[], key = tenant.key) => post('/batch', key, { events }),
    read: (id: string, key = tenant.key) => service.call({ url: `${url}/${id}`, key }),
  };
}
