import { expect } from 'vitest';
import {
  type ErasureTarget,
  eraseNow as erase,
  offboardTenant,
} from '../../server/src/erasure/command.ts';
import type { ErasureDeps } from '../../server/src/erasure/erase.ts';
import { envOf } from './archived.ts';
import { recordOne } from './event-pool.ts';
import { eventOf, type TestService } from './service.ts';

export const requester = { operatorEmail: 'olga@operators.example', reason: 'ticket 4711' };

export const ana = '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a';
export const ben = '11111111-2222-4333-8444-555555555555';
export const nilId = '00000000-0000-0000-0000-000000000000';

/** An actor as a host product sends one. */
export const actorOf = (id: string, email: string | null, role = 'admin') => ({
  id,
  email,
  role,
  ip: '203.0.113.7',
  userAgent: 'Mozilla/5.0',
});

/** Records events with these changes; returns the answers. */
export async function recordEach(
  service: TestService,
  key: string,
  changes: readonly Record<string, unknown>[],
) {
  const recorded = [];
  for (const change of changes) {
    recorded.push(await recordOne(service, key, eventOf(change)));
  }
  return recorded;
}

/** Runs `indelible erase --actor|--event … --yes` by the service's clock. */
export function eraseNow(
  service: TestService,
  target: ErasureTarget,
  changes: Partial<ErasureDeps> = {},
) {
  const now = () => service.clock.now;
  return erase(envOf(service), target, requester, { now, ...changes });
}

/** The facts of a bundle of the whole log, as if it had been made and verified. */
export async function bundleOf({ owner }: TestService, tenantId: string) {
  const head = 'SELECT log_id::text AS id, size::int FROM log_heads WHERE tenant_id = $1';
  const { id, size } = (await owner.query(head, [tenantId])).rows[0];
  const origin = `localhost/l/${id.replaceAll('-', '')}`;
  return { origin, size: Number(size), events: Number(size), sha256: 'ab'.repeat(32) };
}

/**
 * As `indelible erase --tenant … --bundle … --yes`, after the bundle was verified; default: one of
 * now.
 */
export async function offboardNow(
  service: TestService,
  tenantId: string,
  made?: Awaited<ReturnType<typeof bundleOf>>,
  changes: Parameters<typeof offboardTenant>[2] = {},
) {
  const now = () => service.clock.now;
  const bundle = made ?? (await bundleOf(service, tenantId));
  const offboarding = { tenantId, bundle, ...requester };
  return offboardTenant(envOf(service), offboarding, {
    now,
    checkpointWaitMs: 0,
    ...changes,
  });
}

/** The single read of an event. */
export async function readEvent(service: TestService, key: string, id: string) {
  const { status, body } = await service.call({ url: `/api/audit-logs/${id}`, key });
  expect(status).toBe(200);
  return body;
}
