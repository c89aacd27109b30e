import { randomUUID } from 'node:crypto';
import { archiveOf, expectWhole } from '@indelible/testing/archived';
import { recordAll } from '@indelible/testing/event-pool';
import { eventOf, testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import { withOwnerSession } from '../postgres/db.ts';
import { draftPart } from './draft-part.ts';
import { createDraftThread } from './draft-thread.ts';
import { partLimits } from './part.ts';

const service = await testService();
const thread = createDraftThread({ ownerUrl: service.ownerUrl });
afterAll(() => thread.close());

const tenant = await service.tenant();
await recordAll(
  service,
  tenant.key,
  Array.from({ length: 400 }, (_, n) => eventOf({ diff: { n: { from: n, to: n + 1 } } })),
);
const wanted = {
  tenantId: tenant.id,
  first: 10,
  end: 350,
  limits: partLimits,
  nowMs: service.clock.now,
};

test('a thread makes the same files as the caller would, byte by byte', async () => {
  const here = await withOwnerSession(service.ownerUrl, ({ transaction }) =>
    draftPart(transaction, wanted),
  );
  const there = await thread.draft(wanted);
  expect(there.draft).toEqual(here.draft);
  expect(here.draft).toMatchObject({ first: 10, last: 349, events: 340, contradicted: 0 });
  expect(Buffer.from(there.events)).toEqual(Buffer.from(here.events));
  expect(Buffer.from(there.identity)).toEqual(Buffer.from(here.identity));
});

test('a part that a thread cannot make is told, and the next one is made', async () => {
  const unknown = { ...wanted, tenantId: randomUUID() };
  await expect(thread.draft(unknown)).rejects.toThrow('the tenant has no log');
  expect((await thread.draft(wanted)).draft.last).toBe(349);
});

test('a run archives the same entries in a thread', async () => {
  const { parts, problem } = await archiveOf(service, tenant.id, { threadFrom: 0 });
  expect([problem, parts.length]).toEqual([null, 1]);
  await expectWhole(service, tenant, 1);
});

test('a draft whose thread is ended is told, and the next one is made', async () => {
  const made = thread.draft(wanted);
  await Promise.all([expect(made).rejects.toThrow('the thread has ended'), thread.close()]);
  expect((await thread.draft(wanted)).draft.last).toBe(349);
});
