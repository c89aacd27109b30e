import { expect } from 'vitest';
import { keyOf } from './restore-setup.ts';
import { type Answer, eventOf, type TestService } from './service.ts';
import { type Receiver, webhookReceiver } from './webhook-receiver.ts';

export const webhooksUrl = '/api/webhooks';
const scopes = ['events:write', 'events:read', 'exports:write', 'webhooks:write'];

export interface HookedTenant {
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

type Member = 'pause' | 'resume' | 'secret' | 'test' | 'replay';

/** Calls of one tenant's key. */
export function webhookCalls(service: TestService, { key, receiver }: HookedTenant) {
  const call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) =>
    service.call({ method, url: `${webhooksUrl}${path}`, key, ...(body ? { body } : {}) });
  return {
    post: (body: object): Promise<Answer> => call('POST', '', body),
    /** A webhook to the receiver; the result contains its `secret`. */
    async create(changes: object = {}) {
      const { status, body, text } = await call('POST', '', { url: receiver.url, ...changes });
      expect(status, text).toBe(201);
      return body;
    },
    get: async (id: string) => (await call('GET', `/${id}`)).body,
    list: (query = '') => call('GET', query),
    patch: (id: string, body: object) => call('PATCH', `/${id}`, body),
    remove: (id: string) => call('DELETE', `/${id}`),
    act: (id: string, member: Member, body?: object) => call('POST', `/${id}/${member}`, body),
    /** Newest first. */
    deliveries: async (id: string, query = '') =>
      (await call('GET', `/${id}/deliveries${query}`)).body.data,
    /** Records an event and returns it. */
    async record(changes: Record<string, unknown> = {}) {
      const body = eventOf(changes);
      const answer = await service.call({ method: 'POST', url: '/api/audit-logs', key, body });
      expect(answer.status, answer.text).toBe(201);
      return answer.body;
    },
    /** Records this number of events; returns their ids in the order of the log. */
    async recordMany(count: number, changes: Record<string, unknown> = {}): Promise<string[]> {
      const events = Array.from({ length: count }, (_, at) =>
        eventOf({ ...changes, diff: { at: { from: null, to: at } } }),
      );
      const url = '/api/audit-logs/batch';
      const answer = await service.call({ method: 'POST', url, key, body: { events } });
      expect(answer.status, answer.text).toBe(200);
      return answer.body.results.map(({ id }: { id: string }) => id);
    },
    /** The log's records of webhooks with this action, oldest first. */
    async log(action: string) {
      const url = `/api/audit-logs?action=${action}&resource=webhook&sort=sequence&order=asc&limit=500`;
      const { body } = await service.call({ url, key });
      const whole = body.data.map(({ id }: { id: string }) =>
        service.call({ url: `/api/audit-logs/${id}`, key }),
      );
      return (await Promise.all(whole)).map((each) => each.body);
    },
  };
}

export type WebhookCalls = ReturnType<typeof webhookCalls>;
