import { createPlans, defaultPlans, type PlanDefinition } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { withOwnerSession } from '../postgres/db.ts';
import { removalCutoff } from '../retention/schedule.ts';
import { lockTerms, readTerms } from '../retention/terms.store.ts';
import { lockWaits } from '../testing/lock-waits.ts';
import { databaseBefore } from '../testing/old-database.ts';
import { day } from '../testing/retention-setup.ts';
import { testService } from '../testing/service.ts';
import { readPlans, requirePlans, storePlans } from './plans.store.ts';
import { graceEnd } from './tenant-settings.ts';

const service = await testService();
await service.tenant('Pro');

const gold: PlanDefinition = { name: 'Gold', class: 4, keeps: { years: 2 } };
const plansWith = (...changes: PlanDefinition[]) => {
  const names = changes.map(({ name }) => name);
  return createPlans([...defaultPlans.all.filter(({ name }) => !names.includes(name)), ...changes]);
};

const store = (plans = defaultPlans) =>
  withOwnerSession(service.ownerUrl, (owner) => owner.transaction((tx) => storePlans(tx, plans)));

test('a plan is added, changed, retired and brought back; its class stays its own', async () => {
  await expect(requirePlans(service.db.writer, plansWith(gold))).rejects.toThrow(
    'the database has other plans; run `indelible migrate`',
  );
  await store(plansWith(gold));
  await requirePlans(service.db.writer, plansWith(gold));
  const stored = async () => (await readPlans(service.db.writer)).find(({ class: n }) => n === 4);
  expect(await stored()).toMatchObject({ ...gold, unit: 'month', retired: false, archive: false });
  await store(plansWith({ ...gold, keeps: { years: 3 }, archive: true }));
  expect(await stored()).toMatchObject({ keeps: { years: 3 }, archive: true });
  await store();
  await requirePlans(service.db.writer, defaultPlans);
  expect(await stored()).toMatchObject({ retired: true });
  const thief = plansWith({ ...gold, name: 'Silver' });
  await expect(store(thief)).rejects.toThrow(
    'the class 4 of the plan Silver was that of the plan Gold: no class is used again',
  );
  await store(plansWith({ ...gold, keeps: { days: 40 } }));
  expect(await stored()).toMatchObject({ keeps: { days: 40 }, retired: false });
  await store();
});

test.each<[string, PlanDefinition[], string]>([
  [
    'another class',
    [{ name: 'Pro', class: 7, keeps: { years: 1 } }],
    'has the class 1, which cannot',
  ],
  [
    'less time',
    [{ name: 'Pro', class: 1, keeps: { days: 90 } }],
    'the plan Pro has promised its tenants 1 year, and cannot keep 90 days',
  ],
  ['years in days', [{ name: 'Starter', class: 0, keeps: { years: 2 } }], 'has daily partitions'],
])('a plan cannot get %s', async (_, changes, sentence) => {
  await expect(store(plansWith(...changes))).rejects.toThrow(sentence);
  await expect(requirePlans(service.db.writer, plansWith(...changes))).rejects.toThrow(sentence);
});

test('a plan that tenants have cannot go, and one without tenants may keep less', async () => {
  const without = createPlans(defaultPlans.all.filter(({ name }) => name !== 'Pro'));
  await expect(store(without)).rejects.toThrow('1 tenant has the plan Pro, which is no longer');
  await store(plansWith({ name: 'Starter', class: 0, keeps: { days: 7 } }));
  await store();
});

test('a call that waits for a tenant that is being downgraded sees the grace with the plan', async () => {
  const { id } = await service.tenant('Enterprise');
  const moment = new Date(service.clock.now);
  const lateWriter = service.db.writer.connect();
  const tx = await lateWriter;
  await tx.query('BEGIN');
  await tx.query(`SELECT change_terms($1, 'Starter', false, $2)`, [id, moment]);
  const waiting = withOwnerSession(service.ownerUrl, (owner) =>
    owner.transaction((own) => lockTerms(own, id)),
  );
  await expect.poll(() => lockWaits(service.owner)).toBe(1);
  await tx.query('COMMIT');
  tx.release();
  const terms = await waiting;
  expect(terms).toMatchObject({ plan: 'Starter', grace: [{ keeps: { years: 7 } }] });
  expect(terms?.grace[0]?.untilMs).toBeGreaterThanOrEqual(graceEnd(moment.getTime()));
});

test('a database of before keeps its graces, classes and partitions', async () => {
  const old = await databaseBefore('0015');
  const id = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
  const now = Date.UTC(2026, 10, 1);
  const until = new Date(now + 10 * day);
  try {
    const add = `INSERT INTO tenants (id, name, plan, legal_hold, pro_until, enterprise_until, held_until,
      created_at, updated_at) VALUES ($1, 'x', $2, $3, $4, $5, $6, now(), now())`;
    await old.owner.query(add, [id(1), 'Starter', false, until, until, null]);
    await old.owner.query(add, [id(2), 'Pro', false, null, null, until]);
    await old.owner.query(add, [id(3), 'Enterprise', true, null, null, null]);
    for (const [n, retentionClass] of [0, 1, 3].entries()) {
      await old.owner.query('SELECT open_log($1, $2::smallint)', [id(n + 1), retentionClass]);
    }
    for (const retentionClass of [0, 1, 2, 3]) {
      await old.owner.query('SELECT place_partition($1::smallint, $2)', [
        retentionClass,
        new Date(now),
      ]);
    }
    const [past, detached] = [new Date('2026-08-08'), 'audit_events_pro_202608'];
    await old.owner.query('SELECT place_partition(1::smallint, $1)', [past]);
    await old.owner.query(`ALTER TABLE audit_events DETACH PARTITION ${detached}`);
    await old.migrate();
    const terms = await readTerms(old.owner, [id(1), id(2), id(3)]);
    const cutoffs = [1, 2, 3].map((n) => {
      const found = terms.get(id(n));
      return found && [removalCutoff(found, now), removalCutoff(found, now + 11 * day)];
    });
    expect(cutoffs).toEqual([
      [Date.UTC(2019, 10, 1), now - 19 * day],
      [null, Date.UTC(2025, 10, 12)],
      [null, null],
    ]);
    const { rows } = await old.owner.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relname ~ '^audit_events_\\d_(20261101|202611)$' ORDER BY 1`,
    );
    const names = ['audit_events_0_20261101', 'audit_events_1_202611'];
    expect(rows.map(({ name }) => name)).toEqual([
      ...names,
      'audit_events_2_202611',
      'audit_events_3_202611',
    ]);
    const found = await old.owner.query('SELECT class, first FROM detached_partitions()');
    expect(found.rows).toEqual([{ class: 1, first: expect.anything() }]);
  } finally {
    await old.close();
  }
});
