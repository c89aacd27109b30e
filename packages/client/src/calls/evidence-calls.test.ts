import { expect, test } from 'vitest';
import { createClient, UnreachableError } from '../index.ts';
import { type Answer, scriptedService } from '../testing/scripted-service.ts';

/** A client of a service that gives these answers. */
async function answering(answers: Answer[]) {
  const service = await scriptedService(answers);
  const options = { tenantId: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', reason: 'ticket 12' };
  return { ...service, client: createClient({ url: service.url, key: 'idl_test', ...options }) };
}

test('saving a search and restoring are never repeated, because each call is one of its own', async () => {
  const { client, received } = await answering([{ hangUp: true }]);
  await expect(client.searches.create({ filters: {} })).rejects.toThrow(UnreachableError);
  await expect(client.restore('evt_audit_1', 'before')).rejects.toThrow(UnreachableError);
  expect(received.map(({ line, body }) => [line, body])).toEqual([
    ['POST /api/audit-logs/searches', '{"filters":{}}'],
    ['POST /api/audit-logs/evt_audit_1/restore', '{"to":"before"}'],
  ]);
});

test('kept events are read again when the service is away, with the operator headers', async () => {
  const { client, received } = await answering([
    { status: 503 },
    { body: { id: 'x' } },
    { body: { id: 'x' } },
    { body: { data: [] } },
  ]);
  expect(await client.searches.get('srch_a/b')).toEqual({ id: 'x' });
  expect(await client.restores.get('rst_1')).toEqual({ id: 'x' });
  expect(await client.sources()).toEqual([]);
  expect(received.map(({ line }) => line)).toEqual([
    'GET /api/audit-logs/searches/srch_a%2Fb',
    'GET /api/audit-logs/searches/srch_a%2Fb',
    'GET /api/audit-logs/restores/rst_1',
    'GET /api/sources',
  ]);
  for (const { headers } of received) {
    expect(headers).toMatchObject({ 'x-access-reason': 'ticket%2012' });
  }
});

test('lists of searches, views and restores follow their cursors to the end', async () => {
  const pages = [
    { data: [{ id: 'a' }], pagination: { nextCursor: 'two' } },
    { data: [{ id: 'b' }], pagination: { nextCursor: null } },
  ];
  const answers = [...pages, ...pages, ...pages].map((body) => ({ body }));
  const { client, received } = await answering(answers);
  const ids: string[] = [];
  for await (const { id } of client.searches.list()) ids.push(id);
  for await (const { id } of client.views.list()) ids.push(id);
  for await (const { id } of client.restores.list('r-1')) ids.push(id);
  expect(ids).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  expect(received.map(({ line }) => line)).toEqual([
    'GET /api/audit-logs/searches',
    'GET /api/audit-logs/searches?cursor=two',
    'GET /api/views',
    'GET /api/views?cursor=two',
    'GET /api/audit-logs/restores?resource_id=r-1',
    'GET /api/audit-logs/restores?resource_id=r-1&cursor=two',
  ]);
});

test('a view is made once, and changed and removed by its id', async () => {
  const view = { name: 'Late', filters: { action: '!login' }, shared: true };
  const { client, received } = await answering([
    { status: 201, body: { id: 'view_1' } },
    { body: { id: 'view_1', name: 'Late' } },
    { status: 204 },
    { body: { id: 'view_1' } },
  ]);
  const { id } = await client.views.create(view);
  expect((await client.views.put(id, view)).name).toBe('Late');
  await client.views.remove(id);
  expect((await client.views.get('a/b')).id).toBe('view_1');
  expect(received.map(({ line }) => line)).toEqual([
    'POST /api/views',
    'PUT /api/views/view_1',
    'DELETE /api/views/view_1',
    'GET /api/views/a%2Fb',
  ]);
});
