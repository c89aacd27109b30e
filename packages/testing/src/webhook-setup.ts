import { afterEach, beforeEach, expect } from 'vitest';
import type { Environment } from '../../server/src/config.ts';
import { recordAll, recordOne } from './event-pool.ts';
import { expectLogIntact } from './intact.ts';
import { keyOf } from './restore-setup.ts';
import { type Answer, eventOf, type TestService, testService } from './service.ts';
import { type Receiver, webhookReceiver } from './webhook-receiver.ts';

export const webhooksUrl = '/api/webhooks';
const scopes = ['events:write', 'events:read', 'exports:write', 'webhooks:write'];

interface HookedTenant {
  id: string;
  /** Records, reads, exports and manages webhooks. */
  key: string;
  receiver: Receiver;
}

/** A tenant with a receiver on loopback, without a webhook. */
export async function hookedTenant(service: TestService, plan = 'Pro'): Promise<HookedTenant> {
  const receiver = await webhookReceiver();
  const { id } = await service.tenant(plan);
  return { id, key: await keyOf(service, id, scopes), receiver };
}

/**
 * A service that calls loopback too. Each test has a tenant of its own, whose log must be intact at
 * its end.
 */
export async function hookedService(env: Environment = {}, plan = 'Pro') {
  const service = await testService({ WEBHOOK_ALLOW_PRIVATE: 'true', ...env });
  const tenant = {} as HookedTenant;
  beforeEach(async () => {
    service.clock.now += 1_000;
    Object.assign(tenant, await hookedTenant(service, plan));
  });
  afterEach(async () => {
    await expectLogIntact(service, tenant.id);
  });
  const deliver = () => service.app.webhooks.tick();
  return { service, tenant, hooks: webhookCalls(service, tenant), deliver };
}

/** The ids of the events that producers recorded. */
export const idsOf = (events: { id: string; recordedBy: { kind: string } }[]) =>
  events.flatMap(({ id, recordedBy }) => (recordedBy.kind === 'service' ? [] : [id]));

interface ShownDelivery {
  messageId: string;
  type: string;
  status: string;
  attempt: number;
  firstSequence: number;
  events: number;
  responseStatus: number;
}

type Member = 'pause' | 'resume' | 'secret' | 'test' | 'replay' | 'skip';

/** Calls of one tenant's key. */
export function webhookCalls(service: TestService, tenant: HookedTenant) {
  const call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) =>
    service.call({
      method,
      url: `${webhooksUrl}${path}`,
      key: tenant.key,
      ...(body ? { body } : {}),
    });
  return {
    post: (body: object): Promise<Answer> => call('POST', '', body),
    /** A webhook to the receiver; the result contains its `secret`. */
    async create(changes: object = {}) {
      const { status, body, text } = await call('POST', '', {
        url: tenant.receiver.url,
        ...changes,
      });
      expect(status, text).toBe(201);
      return body;
    },
    get: async (id: string) => (await call('GET', `/${id}`)).body,
    list: () => call('GET', ''),
    patch: (id: string, body: object) => call('PATCH', `/${id}`, body),
    remove: (id: string) => call('DELETE', `/${id}`),
    act: (id: string, member: Member, body?: object) => call('POST', `/${id}/${member}`, body),
    /** Newest first. */
    deliveries: async (id: string, query = ''): Promise<ShownDelivery[]> =>
      (await call('GET', `/${id}/deliveries${query}`)).body.data,
    /** Records an event and returns it. */
    record: (changes: Record<string, unknown> = {}) =>
      recordOne(service, tenant.key, eventOf(changes)),
    /** Records this number of events; returns their ids in the order of the log. */
    async recordMany(count: number, changes: Record<string, unknown> = {}): Promise<string[]> {
      const events = Array.from({ length: count }, (_, at) =>
        eventOf({ ...changes, diff: { at: { from: null, to: at } } }),
      );
      return (await recordAll(service, tenant.key, events)).map(({ id }) => id);
    },
    /** The log's records of webhooks with this action, oldest first. */
    async log(action: string) {
      const url = `/api/audit-logs?action=${action}&resource=webhook&sort=sequence&order=asc&limit=500`;
      const { key } = tenant;
      const { body } = await service.call({ url, key });
      const whole = body.data.map(({ id }: { id: string }) =>
        service.call({ url: `/api/audit-logs/${id}`, key }),
      );
      return (await Promise.all(whole)).map((each) => each.body);
    },
  };
}
