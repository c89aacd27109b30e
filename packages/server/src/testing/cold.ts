import { externalUuid, uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import { expect } from 'vitest';
import { nthEvent } from '../../../protocol/src/testing/take-context.ts';
import { archiveOf } from './archived.ts';
import { poolEvents, recordAll } from './event-pool.ts';
import { at, day, eventAt, type Tenant, tenantOf } from './retention-setup.ts';
import { eventOf, type TestService } from './service.ts';

/* A log whose older events leave PostgreSQL. */

const timeOf = (event: unknown) => uuidTimeMs(uuidFromEventId((event as { id: string }).id) ?? '');

/**
 * A tenant with events of ten months, recorded as they happen, and a few late ones. The newest 256
 * entries of a log, whose words are in no block, stay in PostgreSQL.
 */
export async function tenantOfMonths(service: TestService, count = 240): Promise<Tenant> {
  const { now } = service.clock;
  const tenant = await tenantOf(service, 'Enterprise', 300);
  const ofPool = poolEvents(count, now - day, 290);
  const ofVersion2 = Array.from({ length: 12 }, (_, n) => {
    const { id } = eventAt(now - (280 - 20 * n) * day);
    return { ...nthEvent(n), id };
  });
  // Lower case of these depends on their neighbours, or is longer.
  const ofCase = ['ΝΙΚΟΣ@Example.com', 'Σ.Σ-ΟΔΟΣ.Α@ΕΛΣ', 'İPEK@example.com'].map((email, n) => ({
    ...eventAt(now - (250 - n) * day),
    actor: { id: externalUuid(tenant.id, 'actor', email), email, role: 'admin' },
    onBehalfOf: [{ externalId: `x${email}` }],
  }));
  const all = [...ofPool, ...ofVersion2, ...ofCase].sort((a, b) => timeOf(a) - timeOf(b));
  const days = Map.groupBy(all, (event) => Math.floor(timeOf(event) / day));
  for (const events of days.values()) {
    await at(service, timeOf(events.at(-1)) + 1, () => recordAll(service, tenant.key, events));
  }
  const late = [270, 200, 199].map((daysAgo) => eventAt(now - daysAgo * day));
  const recent = Array.from({ length: 300 }, () => eventOf({ action: 'access' }));
  await recordAll(service, tenant.key, [...late, ...recent]);
  await service.app.background.run('words');
  return tenant;
}

/** Two archive runs: the first one moves the mark, the second one deletes the rows below it. */
export async function moveToArchive(
  service: TestService,
  { id }: Pick<Tenant, 'id'>,
  objectStoreUrl?: string,
): Promise<void> {
  for (let run = 0; run < 2; run += 1) {
    const { problem } = await archiveOf(service, id, { hotMonths: 4 }, objectStoreUrl);
    expect(problem).toBe(null);
  }
}

/** How many of the tenant's rows PostgreSQL holds. */
export async function rowsOf({ owner }: TestService, { id }: Pick<Tenant, 'id'>): Promise<number> {
  const text = 'SELECT count(*)::int AS count FROM audit_events WHERE tenant_id = $1';
  return (await owner.query(text, [id])).rows[0].count;
}
