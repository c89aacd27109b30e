import { archiveNow } from '@indelible/testing/archived';
import { clusterNodes } from '@indelible/testing/cluster';
import {
  change,
  databaseTime,
  day,
  recordAt,
  runTwice,
  stored,
  tenantOf,
} from '@indelible/testing/retention-setup';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

/* The owner's jobs remove events; a stolen serving login must not be able to make them. */

const service = await testService();

const denied = clusterNodes().length > 0 ? /^(42501|0A000|XX000)$/ : /^42501$/;

/** The SQLSTATE of a statement about the tenant that the serving login commits, or `done`. */
const attempt = (statement: string, id: string): Promise<string> =>
  service.db.writer.query(statement, [id]).then(
    () => 'done',
    (error: { code?: string }) => String(error.code),
  );

test.each([
  "UPDATE tenants SET plan = 'Starter' WHERE id = $1",
  'UPDATE tenants SET legal_hold = false WHERE id = $1',
  "UPDATE grace SET until = '-infinity' WHERE tenant_id = $1",
  "INSERT INTO grace VALUES ($1, 1, '-infinity')",
  'DELETE FROM grace WHERE tenant_id = $1',
])('a serving login cannot let the jobs of the owner remove events: %s', async (statement) => {
  const tenant = await tenantOf(service, 'Enterprise', 901);
  const { now } = service.clock;
  const old = await recordAt(service, tenant, now - 900 * day);
  await change(service, tenant, { legalHold: true });
  await change(service, tenant, { legalHold: false });
  expect(await attempt(statement, tenant.id)).toMatch(denied);
  await archiveNow(service);
  await runTwice(service);
  expect(await stored(service, [old])).toEqual([old]);
});

test('with a smaller plan and without a hold, events stay for the grace, whatever time a serving login names', async () => {
  service.clock.now = await databaseTime(service);
  const tenant = await tenantOf(service, 'Enterprise', 901);
  const old = await recordAt(service, tenant, service.clock.now - 900 * day);
  await change(service, tenant, { legalHold: true });
  const terms = "SELECT change_terms($1, 'Starter', false, '-infinity')";
  expect(await attempt(terms, tenant.id)).toBe('done');
  service.clock.now += 15 * day;
  await runTwice(service);
  expect(await stored(service, [old])).toEqual([old]);
});

test('the grace begins with the change, however long ago a serving login began its transaction', async () => {
  const { id } = await service.tenant('Enterprise');
  const tx = await service.db.writer.connect();
  await tx.query('BEGIN');
  const begun = await tx.query('SELECT clock_timestamp()::text AS later');
  await tx.query("SELECT change_terms($1, 'Starter', false, '-infinity')", [id]);
  await tx.query('COMMIT');
  tx.release();
  const grace = `SELECT until >= $2::timestamptz + interval '30 days' AS whole FROM grace
    WHERE tenant_id = $1`;
  const { rows } = await service.owner.query(grace, [id, begun.rows[0].later]);
  expect(rows).toEqual([{ whole: true }]);
});
