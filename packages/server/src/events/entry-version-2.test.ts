import { hash } from 'node:crypto';
import {
  externalUuid,
  parseEventProof,
  segmentNames,
  verifyEventProof,
  versionOf,
} from '@indelible/protocol';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { everyContext } from '../../../protocol/src/testing/recorded-log.ts';
import { vkeyOf } from '../testing/checkpoints.ts';
import { expectLogIntact } from '../testing/intact.ts';
import { eventOf, type TestService, testService } from '../testing/service.ts';

let service: TestService;
let tenant: { id: string; key: string };
beforeAll(async () => {
  service = await testService();
});
afterAll(() => service.close());
beforeEach(async () => {
  tenant = await service.tenant();
});

const sha = (data: Uint8Array) => hash('sha256', data, 'buffer');

/** An event with these members of actor, resource and itself. */
function sentWith(changes: object): Record<string, unknown> {
  const { actor = {}, resource = {}, ...others } = changes as Record<string, object>;
  const plain = eventOf() as Record<string, object>;
  return {
    ...plain,
    ...others,
    actor: { ...plain.actor, ...actor },
    resource: { ...plain.resource, ...resource },
  };
}

async function record(changes: object = {}) {
  const { status, body } = await service.call({
    ...{ method: 'POST', url: '/api/audit-logs', key: tenant.key, body: sentWith(changes) },
  });
  expect([status, body.code]).toEqual([201, undefined]);
  return body;
}

const get = (url: string) => service.call({ url: `/api/audit-logs${url}`, key: tenant.key });

test('every field of version 2 is stored, shown alike in read and list, and proven', async () => {
  const recorded = await record(everyContext);
  expect(recorded).toMatchObject(everyContext);
  const { leafHash, warnings, ...event } = recorded;
  expect((await get(`/${event.id}`)).body).toEqual(event);
  const { before, after, ...listed } = event;
  expect((await get('?limit=1')).body.data).toEqual([listed]);
  const { text } = await get(`/${event.id}/proof`);
  const { checkpoint } = JSON.parse(text);
  const verdict = await verifyEventProof(sha, text, [await vkeyOf(service.app, checkpoint)]);
  expect(verdict).toMatchObject({ code: 'valid' });
  expect(versionOf(parseEventProof(text).body)).toBe(2);
  await expectLogIntact(service, tenant.id);
});

test('an event without such a field stays one of version 1, also beside one with', async () => {
  const { status } = await service.call({
    ...{ method: 'POST', url: '/api/audit-logs/batch', key: tenant.key },
    body: { events: [eventOf(), sentWith({ outcome: 'success' }), eventOf()] },
  });
  expect(status).toBe(200);
  const { body } = await get('?resource=queue&sort=sequence');
  const versions = [];
  for (const { id } of body.data) {
    versions.push(versionOf(parseEventProof((await get(`/${id}/proof`)).text).body));
  }
  expect(versions).toEqual([1, 2, 1]);
  await expectLogIntact(service, tenant.id);
});

test('empty values of version 2 are not stored, so the event stays one of version 1', async () => {
  const empty = { actor: { name: null, externalId: '' }, outcome: null, targets: [], metadata: {} };
  const { id, ...event } = await record(empty);
  expect(Object.keys(event.actor)).toEqual(['id', 'email', 'role', 'ip', 'userAgent']);
  expect(event).not.toHaveProperty('targets');
  expect(versionOf(parseEventProof((await get(`/${id}/proof`)).text).body)).toBe(1);
});

test('an external id stands in for the id: the same gives the same, in every place', async () => {
  const { actor, resource, onBehalfOf, targets } = await record({
    actor: { id: undefined, externalId: 'user_123' },
    resource: { id: undefined, externalId: 'order-77' },
    onBehalfOf: [{ externalId: 'user_123' }],
    targets: [{ type: 'queue', externalId: 'order-77' }],
  });
  expect(actor.id).toBe(externalUuid(tenant.id, 'actor', 'user_123'));
  expect(resource.id).toBe(externalUuid(tenant.id, 'queue', 'order-77'));
  expect([onBehalfOf[0].id, targets[0].id]).toEqual([actor.id, resource.id]);
  const given = await record({ actor: { externalId: 'user_123' } });
  expect(given.actor.id).toBe((eventOf().actor as { id: string }).id);
});

test('the same id with another field of version 2 is another content', async () => {
  const { id } = await record({ outcome: 'failure' });
  const again = (changes: object) =>
    service.call({
      ...{ method: 'POST', url: '/api/audit-logs', key: tenant.key },
      body: sentWith({ id, ...changes }),
    });
  expect((await again({ outcome: 'failure' })).status).toBe(200);
  expect((await again({ outcome: 'success' })).status).toBe(409);
  expect((await again({})).status).toBe(409);
});

test('secrets in metadata are masked, and the warning says so', async () => {
  const { metadata, warnings } = await record({ metadata: { apiKey: 's3cret', region: 'eu' } });
  expect([metadata, warnings]).toEqual([{ apiKey: '[masked]', region: 'eu' }, ['secret_masked']]);
});

test('a proof opens each segment that the event has, and no other', async () => {
  const { id } = await record({ actor: { name: 'Ana' } });
  const { body } = await get(`/${id}/proof`);
  expect(Object.keys(body.salts)).toEqual(segmentNames.filter((name) => name !== 'state'));
});
