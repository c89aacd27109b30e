import { createPlans, defaultPlans, type PlanDefinition } from '@indelible/protocol';
import { lockWaits } from '@indelible/testing/lock-waits';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { withOwnerSession } from '../postgres/db.ts';
import { lockTerms } from '../retention/terms.store.ts';
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
  await expect(store(without)).rejects.toThrow(
    '1 tenant has the plan Pro, which CATALOGUE_FILE does not name',
  );
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
