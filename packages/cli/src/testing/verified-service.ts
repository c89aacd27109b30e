import { join } from 'node:path';
import { createClient, type IndelibleClient } from '@indelible/client';
import { poolEvents, recordAll } from '@indelible/testing/event-pool';
import { newFolder } from '@indelible/testing/folders';
import {
  eventOf,
  type KeptService,
  platformKey,
  type TestService,
  testService,
} from '@indelible/testing/service';
import { noProgress } from '../verify/log-source.ts';
import type { Report } from '../verify/report.ts';
import { SeenCheckpoints } from '../verify/seen-checkpoints.ts';
import { type TenantOptions, verifyTenant } from '../verify/verify-tenant.ts';

interface Tenant {
  id: string;
  key: string;
}

interface VerifyOptions extends Partial<TenantOptions> {
  of?: Tenant;
  /** Intercepts the calls of the verifier. */
  fetch?: typeof globalThis.fetch;
}

/** A service with one tenant whose log covers every case, and a verifier. */
export interface VerifiedService {
  service: TestService;
  url: string;
  tenant: Tenant;
  client: IndelibleClient;
  clientOf(tenant: Tenant): IndelibleClient;
  /** A folder of this test; `state` holds the verifying machine's state. */
  folder: string;
  /** Runs `indelible verify <tenant>`; another `machine` has no earlier state. */
  verify(options?: VerifyOptions, machine?: string): Promise<Report>;
}

/** Made once in each worker; recording it all takes far longer than a copy. */
let recorded: Promise<{ tenant: Tenant; kept: KeptService }> | undefined;

async function recordOnce(): Promise<{ tenant: Tenant; kept: KeptService }> {
  const service = await testService();
  const tenant = await service.tenant();
  await recordVariety(service, tenant);
  await service.app.checkpoints.tick();
  return { tenant, kept: await service.keep() };
}

export async function verifiedService(): Promise<VerifiedService> {
  recorded ??= recordOnce();
  const { tenant, kept } = await recorded;
  const service = await testService({}, 6, kept);
  const url = await service.app.http.listen({ port: 0 });
  const folder = newFolder();
  const clientOf = ({ id, key }: Tenant, fetch = globalThis.fetch) =>
    createClient({ url, key, tenantId: id, attempts: 1, fetch });
  return {
    service,
    url,
    tenant,
    client: clientOf(tenant),
    clientOf,
    folder,
    verify: ({ of = tenant, fetch, ...options } = {}, machine = 'state') =>
      verifyTenant(clientOf(of, fetch), {
        tenantId: of.id,
        vkeys: [],
        plan: null,
        seen: new SeenCheckpoints(join(folder, machine), of.id),
        reopened: false,
        now: () => service.clock.now,
        progress: noProgress,
        ...options,
      }),
  };
}

/** Five months of events, some with states, and operators' reads: two full tiles and a tail. */
async function recordVariety(service: TestService, { id, key }: Tenant) {
  await recordAll(service, key, poolEvents(500, service.clock.now, 150));
  const { now } = service.clock;
  const states = Array.from({ length: 60 }, (_, index) =>
    stateEvent(index, now - index * 3_600_000),
  );
  await recordAll(service, key, states);
  for (let read = 0; read < 5; read += 1) {
    const headers = {
      'x-tenant-id': id,
      'x-access-reason': `audit;%20ticket%20471${read}`,
      'x-operator-email': 'olga@example.com',
    };
    await service.call({ url: '/api/audit-logs?limit=1&q=a%3Bb', key: platformKey, headers });
  }
}

const ofVersion2 = {
  outcome: 'failure',
  correlationId: 'req-1',
  onBehalfOf: [{ externalId: '=user;7', name: 'Ana "A"', email: 'ana@example.com' }],
  via: { channel: 'mcp' },
  metadata: { 'a b': 'x;y', n: 1 },
};

/** An event with text that a table must quote and escape; every other one is of version 2. */
export function stateEvent(index: number, timeMs: number): Record<string, unknown> {
  return eventOf({
    timestamp: new Date(timeMs).toISOString(),
    reason: `ticket ${index}: "ñandú", 𝒳`,
    resource: {
      type: 'ivr',
      id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11',
      name: '=cmd|"x"',
    },
    diff: { 'greeting.text': { from: 'Hello', to: `¡Hola!;=1\r\n${index}` } },
    before: { greeting: { text: 'Hello' }, n: index },
    after: { greeting: { text: `¡Hola!;=1\r\n${index}` }, n: index },
    ...(index % 2 === 0 ? ofVersion2 : {}),
  });
}

/** To a service that can sign nothing now. */
export const signingNothing: typeof fetch = (url, init) =>
  new Headers(init?.headers).get('cache-control') === 'no-cache'
    ? Promise.resolve(Response.json({ code: 'unavailable' }, { status: 503 }))
    : fetch(url, init);
