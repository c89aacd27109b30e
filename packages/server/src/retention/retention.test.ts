import { defaultCatalogue } from '@indelible/protocol';
import { expectRetainedIntact } from '@indelible/testing/intact';
import {
  change,
  classesOf,
  day,
  hour,
  listed,
  partitionName,
  partitions,
  recordAt,
  recordLate,
  records,
  run,
  runTwice,
  stored,
  tenantOf,
} from '@indelible/testing/retention-setup';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { withOwnerSession } from '../postgres/db.ts';
import { ensurePartition } from '../postgres/partitions.store.ts';
import { runRetentionAs } from './command.ts';

const service = await testService();

const noonOf = (ms: number) => Math.floor(ms / day) * day + day / 2;

test('expired events are recorded in the log of their tenant, and then gone, with their partition', async () => {
  const tenant = await service.tenant('Starter');
  const start = noonOf(service.clock.now);
  service.clock.now = start;
  const old = await recordAt(service, tenant, start);
  const partition = partitionName(0, start);
  service.clock.now = start + 29 * day;
  await runTwice(service);
  expect(await stored(service, [old])).toEqual([old]);
  const recent = await recordAt(service, tenant, service.clock.now);
  service.clock.now = start + 32 * day;
  const done = await runTwice(service);
  expect(done?.dropped).toContain(partition);
  expect(await partitions(service)).not.toContain(partition);
  expect(await stored(service, [old, recent])).toEqual([recent]);
  expect(await listed(service, tenant)).toEqual([recent]);
  // Its events were received by the end of the next day.
  const cutoff = new Date(start + 1.5 * day).toISOString();
  // Tenant made, key made, the event, the recent one; then the record.
  expect(await records(service, tenant)).toEqual([
    { sequence: 4, cutoff, size: 4, count: 3, policy: 'Starter', countedFrom: 'receipt' },
  ]);
  expect(await expectRetainedIntact(service, tenant.id)).toEqual([0, 1, 2]);
  expect(await run(service)).toMatchObject({ tenants: [], dropped: [] });
});

test('a clock that is put back to a day that retention has dropped loses nothing the service records itself', async () => {
  const tenant = await service.tenant('Starter');
  const start = noonOf(service.clock.now);
  service.clock.now = start;
  await change(service, tenant, { name: 'One' });
  service.clock.now = start + 32 * day;
  const done = await runTwice(service);
  expect(done?.dropped).toContain(partitionName(0, start));
  service.clock.now = start;
  await change(service, tenant, { name: 'Two' });
  const { body } = await service.call({ url: '/api/audit-logs?resource=tenant', key: tenant.key });
  expect(body.data[0].diff).toEqual({ name: { from: 'One', to: 'Two' } });
  // It lies with the late events: by the clock of its log it is.
  expect(await partitions(service)).not.toContain(partitionName(0, start));
  service.clock.now = start + 32 * day;
});

test('one of several processes that need a partition at once makes it and the others find it', async () => {
  const times = Array.from({ length: 10 }, (_, n) => Date.UTC(2020, n));
  await Promise.all(
    [1, 2, 3].map(() =>
      withOwnerSession(service.ownerUrl, async (owner) => {
        for (const time of times) await ensurePartition(owner, 3, time);
      }),
    ),
  );
  const made = (await partitions(service)).filter((each) => each.includes('events_3_2020'));
  expect(made).toHaveLength(times.length);
});

test('a clock that jumps ahead by years and back removes nothing, and moves nothing out of sight', async () => {
  const tenants = await Promise.all(['Starter', 'Pro', 'Enterprise'].map((p) => service.tenant(p)));
  await run(service);
  const { now } = service.clock;
  const ids = await Promise.all(tenants.map((tenant) => recordAt(service, tenant, now)));
  const [starter] = tenants;
  if (!starter) throw new Error('no tenant');
  for (const jump of [300 * day, 9 * 366 * day]) {
    for (const wrong of [0, hour, 5 * hour]) {
      service.clock.now = now + jump + wrong;
      await run(service);
    }
    service.clock.now = now - jump;
    await run(service);
    service.clock.now = now + 6 * hour;
    await run(service);
  }
  expect(await stored(service, ids)).toEqual(ids);
  expect(await listed(service, starter)).toHaveLength(1);
  for (const { id } of tenants) await expectRetainedIntact(service, id);
});

test('a job that did not run for a month catches up, with one record a tenant', async () => {
  const tenant = await tenantOf(service, 'Starter', 31);
  const ids: string[] = [];
  const { now } = service.clock;
  for (let n = 27; n >= 0; n -= 3) ids.push(await recordAt(service, tenant, now - n * day));
  service.clock.now = now + 62 * day;
  expect(await run(service)).toMatchObject({ tenants: [] }); // the clock may have jumped
  expect(await stored(service, ids)).toEqual(ids);
  service.clock.now += day;
  await run(service);
  expect(await stored(service, ids)).toEqual([]);
  expect(await records(service, tenant)).toMatchObject([{ count: 12 }]);
  await expectRetainedIntact(service, tenant.id);
});

test('days and months are those of UTC, whatever zone the database is set to', async () => {
  const name = partitionName(0, Date.UTC(2031, 4, 5));
  await service.owner.query("SET ROLE indelible_owner; SET timezone = 'Pacific/Apia'");
  for (const time of ['2031-05-05T00:00:00Z', '2031-05-05T23:59:59Z']) {
    await service.owner.query('SELECT place_partition(0::smallint, $1)', [time]);
  }
  await service.owner.query('RESET ROLE; RESET timezone');
  const made = (await partitions(service)).filter((each) => each.includes('events_0_2031'));
  expect(made).toEqual([name]);
});

test('partitions are made ahead for every day and month, also across a clock change and from a 31st', async () => {
  await service.owner.query("SET ROLE indelible_owner; SET timezone = 'Europe/Berlin'");
  for (const [from, days] of [
    ['2032-10-29T23:30:00Z', 2],
    ['2032-01-31T12:00:00Z', 30],
  ]) {
    await service.owner.query('SELECT make_partitions_ahead($1, $2)', [from, days]);
  }
  await service.owner.query('RESET ROLE; RESET timezone');
  const made = await partitions(service);
  const wanted = ['0_20321029', '0_20321030', '0_20321031', '2_203201', '2_203202', '2_203203'];
  const names = wanted.map((each) => `audit_events_${each}`);
  expect(names.filter((name) => !made.includes(name))).toEqual([]);
});

test('a downgrade hides at once and removes after 30 days; what is left settles in one class', async () => {
  const tenant = await tenantOf(service, 'Enterprise', 901);
  const { now } = service.clock;
  const years = await recordAt(service, tenant, now - 900 * day);
  const months = await recordAt(service, tenant, now - 100 * day);
  const days = await recordAt(service, tenant, now - 3 * day);
  const all = [years, months, days];
  await change(service, tenant, { plan: 'Starter' });
  expect(await listed(service, tenant)).toEqual([days]);
  expect(await run(service)).toMatchObject({ moved: 1 });
  expect(await classesOf(service, tenant)).toEqual({ current: 0, others: [2], lying: [0, 2] });
  expect(await listed(service, tenant)).toEqual([days]);
  service.clock.now = now + 28 * day;
  await runTwice(service);
  expect(await stored(service, all)).toEqual(all);
  service.clock.now = now + 31 * day;
  await runTwice(service);
  expect(await stored(service, all)).toEqual([]);
  expect(await classesOf(service, tenant)).toEqual({ current: 0, others: [], lying: [0] });
  const [record] = await records(service, tenant);
  expect(record?.policy).toBe('Starter');
  await expectRetainedIntact(service, tenant.id);
});

test('an upgrade keeps everything that has not been removed, and shows it again', async () => {
  const tenant = await tenantOf(service, 'Starter', 30);
  const { now } = service.clock;
  const old = await recordAt(service, tenant, now - 29 * day);
  const recent = await recordAt(service, tenant, now);
  service.clock.now = now + 2 * day;
  expect(await listed(service, tenant)).toEqual([recent]);
  await change(service, tenant, { plan: 'Pro' });
  for (const days of [1, 30, 200, 335, 338, 364]) {
    service.clock.now = now + days * day;
    await runTwice(service);
    const visible = [old, recent].slice(days + 1 > 336 ? 1 : 0);
    expect(await listed(service, tenant)).toEqual(visible);
  }
  expect(await classesOf(service, tenant)).toMatchObject({ current: 1, others: [] });
  await expectRetainedIntact(service, tenant.id);
});

test('an upgrade back within the grace brings back what the downgrade hid', async () => {
  const tenant = await tenantOf(service, 'Enterprise', 901);
  const { now } = service.clock;
  const years = await recordAt(service, tenant, now - 900 * day);
  for (const plan of ['Starter', 'Enterprise', 'Pro', 'Starter']) {
    await change(service, tenant, { plan });
    service.clock.now += 14 * day;
    await runTwice(service);
    expect(await stored(service, [years])).toEqual([years]);
  }
  await change(service, tenant, { plan: 'Enterprise' });
  expect(await listed(service, tenant)).toEqual([years]);
  service.clock.now += 60 * day;
  await runTwice(service);
  expect(await listed(service, tenant)).toEqual([years]);
  expect(await classesOf(service, tenant)).toMatchObject({ current: 2, others: [] });
  await expectRetainedIntact(service, tenant.id);
});

test('while a hold stands nothing is hidden or removed; once lifted it is hidden, and goes after the grace', async () => {
  const tenant = await service.tenant('Starter');
  const { now } = service.clock;
  const old = await recordAt(service, tenant, now);
  await change(service, tenant, { legalHold: true });
  const ancient = await recordLate(service, tenant, now - 5_000 * day);
  const all = [ancient, old];
  for (const days of [10, 20, 400]) {
    service.clock.now += days * day;
    await runTwice(service);
    expect(await listed(service, tenant)).toEqual(all);
  }
  await change(service, tenant, { plan: 'Pro' });
  expect(await listed(service, tenant)).toEqual(all);
  await change(service, tenant, { legalHold: false });
  expect(await listed(service, tenant)).toEqual([]);
  service.clock.now += 28 * day;
  await runTwice(service);
  expect(await stored(service, all)).toEqual(all);
  service.clock.now += 3 * day;
  await runTwice(service);
  expect(await stored(service, all)).toEqual([]);
  expect(await classesOf(service, tenant)).toMatchObject({ current: 1, others: [] });
  await expectRetainedIntact(service, tenant.id);
});

test('a partition of which something is owed to one tenant stays, without what the others had in it', async () => {
  const [one, other] = [await service.tenant('Pro'), await service.tenant('Pro')];
  service.clock.now = Date.UTC(2032, 0, 20, 12);
  await run(service);
  const { now } = service.clock;
  const ones = await recordAt(service, one, now);
  const others = await recordAt(service, other, now);
  // Just before the partition of January is due.
  service.clock.now = Date.UTC(2033, 0, 25, 12);
  await run(service);
  await change(service, one, { plan: 'Enterprise' });
  await change(service, one, { plan: 'Pro' });
  service.clock.now = Date.UTC(2033, 1, 2);
  const done = await runTwice(service);
  const kept = done?.kept.find(({ partition }) => partition.name === 'audit_events_1_203201');
  expect(kept?.tenantIds).toEqual([one.id]);
  expect(await stored(service, [ones, others])).toEqual([ones]);
  await change(service, one, { plan: 'Enterprise' });
  expect(await listed(service, one)).toEqual([ones]);
  const after = await run(service);
  expect(after?.dropped).toContain('audit_events_1_203201');
  expect(await listed(service, one)).toEqual([ones]);
  for (const { id } of [one, other]) await expectRetainedIntact(service, id);
});

// The last test: with so many partitions the others would take twice as long.
test('partitions are there three months ahead, and a run that came late makes up for it', async () => {
  service.clock.now += 40 * day;
  await runRetentionAs(
    service.ownerUrl,
    { catalogue: defaultCatalogue },
    { now: () => service.clock.now },
  );
  const names = await partitions(service);
  const ahead = service.clock.now + 92 * day;
  expect(names).toContain(partitionName(0, ahead));
  const month = new Date(ahead).toISOString().slice(0, 7).replace('-', '');
  for (const name of [1, 2, 3]) {
    expect(names).toContain(`audit_events_${name}_${month}`);
  }
  const tenant = await service.tenant('Pro');
  await recordAt(service, tenant, service.clock.now);
  await expectRetainedIntact(service, tenant.id);
});
