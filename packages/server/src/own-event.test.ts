import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectLogIntact } from './testing/intact.ts';
import { type TestService, testService } from './testing/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await testService();
});
afterAll(() => service.close());

test('what a caller asked for is recorded although the caller has hung up', async () => {
  const { id, key } = await service.tenant();
  const url = new URL(await service.app.http.listen({ port: 0 }));
  const body = JSON.stringify({ filters: {}, format: 'csv' });
  const request = [
    'POST /api/audit-logs/exports HTTP/1.1',
    'host: localhost',
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
  for (let turn = 0; turn < 5; turn += 1) {
    const socket = connect(Number(url.port), url.hostname);
    await once(socket, 'connect');
    socket.write(request, () => socket.destroy());
  }
  const recorded = async () => {
    const list = '/api/audit-logs?action=access&resource=export';
    return (await service.call({ url: list, key })).body.data.length;
  };
  await expect.poll(recorded, { timeout: 20_000 }).toBe(5);
  await expectLogIntact(service, id);
});
