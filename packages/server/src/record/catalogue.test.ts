import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { admin, Browser, viewerToken } from '@indelible/testing/browser';
import { newFolder } from '@indelible/testing/folders';
import { expectLogIntact } from '@indelible/testing/intact';
import {
  at,
  change,
  classesOf,
  day,
  eventAt,
  listed,
  recordAt,
  records,
  runTwice,
  stored,
} from '@indelible/testing/retention-setup';
import { eventOf, testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import { readConfig } from '../config.ts';

const folder = newFolder();
const CATALOGUE_FILE = join(folder, 'catalogue.json');

// The example of the documentation: a customer relations product.
const guide = readFileSync(join(import.meta.dirname, '../../../../docs/catalogue.md'), 'utf8');
writeFileSync(CATALOGUE_FILE, /```json\n(.*?)```/s.exec(guide)?.[1] ?? '');
const service = await testService({ CATALOGUE_FILE });
const tenant = await service.tenant();
afterAll(() => expectLogIntact(service, tenant.id));

const posted = { method: 'POST', url: '/api/audit-logs' } as const;

async function recorded(action: string, type: string) {
  const resource = { type, id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11' };
  const { key } = tenant;
  return service.call({
    ...posted,
    key,
    body: eventOf({ action, resource, diff: {} }),
  });
}

test.each([
  ['listen', 'call', 'data_access', []],
  ['read', 'page', 'data_access', []],
  ['sync', 'account', 'integration', []],
  ['update', 'deal', 'configuration', ['state_missing']],
  ['update', 'ivr', 'configuration', []],
])('a catalogue of its own records %s of a %s, as %s', async (action, type, category, warnings) => {
  const { status, body } = await recorded(action, type);
  expect([status, body.warnings]).toEqual([201, warnings]);
  const { body: event } = await service.call({
    url: `/api/audit-logs/${body.id}`,
    key: tenant.key,
  });
  expect(event).toMatchObject({ action, resource: { type }, category });
});

test('a refusal is answered with its own sentence', async () => {
  const { status, body } = await recorded('refresh', 'deal');
  expect([status, body.code]).toEqual([422, 'not_recordable']);
  expect(body.errors[0].message).toBe('Refreshing a board changes nothing.');
});

test('the panel learns what its page of sensitive accesses counts', async () => {
  const visitor = new Browser(service.app);
  const token = await viewerToken(service.app, { tenantId: tenant.id, actor: admin() });
  const { body } = await visitor.signIn({ token });
  expect(body.sensitiveAccess.resourceTypes).toEqual(['call']);
  expect(body.sensitiveAccess.actions).toEqual(expect.arrayContaining(['listen', 'read']));
});

test('a fourth plan records, shows and removes by its own retention', async () => {
  const years = (n: number) => {
    const date = new Date(service.clock.now);
    return date.setUTCFullYear(date.getUTCFullYear() - n);
  };
  const gold = await service.tenant('Gold');
  const old = eventAt(years(2) - 1);
  const refused = await service.call({ ...posted, key: gold.key, body: old });
  expect([refused.status, refused.body.code]).toEqual([422, 'outside_retention']);
  const older = await at(service, years(2) + 2 * day, () => service.tenant('Gold'));
  const id = await recordAt(service, older, years(2) + 3 * day);
  expect(await listed(service, older)).toEqual([id]);
  expect(await classesOf(service, older)).toEqual({ current: 4, others: [], lying: [4] });
  service.clock.now += 4 * day;
  expect(await listed(service, older)).toEqual([]);
  expect(await stored(service, [id])).toEqual([id]);
  service.clock.now += 33 * day;
  await runTwice(service);
  expect(await stored(service, [id])).toEqual([]);
  expect(await records(service, older)).toMatchObject([{ count: 3, policy: 'Gold' }]);
  // A year is less than two: leaving Gold needs a reason, and has its grace.
  const url = `/api/tenants/${gold.id}`;
  const downgrade = { method: 'PUT' as const, url, body: { plan: 'Pro' } };
  expect((await service.call(downgrade)).body.code).toBe('reason_required');
  await change(service, gold, { plan: 'Pro' });
  const { rows } = await service.owner.query('SELECT class FROM grace WHERE tenant_id = $1', [
    gold.id,
  ]);
  expect(rows).toEqual([{ class: 4 }]);
  expect((await service.call({ ...downgrade, body: { plan: 'Silver' } })).status).toBe(422);
});

test('a file that contradicts itself stops the start with a sentence', () => {
  const wrong = join(folder, 'wrong.json');
  writeFileSync(wrong, '{"events":{"accessTypes":["call"]}}');
  expect(() => readConfig({ CATALOGUE_FILE: wrong })).toThrow(
    `CATALOGUE_FILE ${wrong}: accessTypes names call, which resourceTypes does not name`,
  );
});

test('the schema of the file is published', async () => {
  const { status, body } = await service.call({ url: '/schemas/catalogue.json', key: null });
  expect([status, body.type]).toEqual([200, 'object']);
});
