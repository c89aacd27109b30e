import { once } from 'node:events';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { expectLogIntact } from '@indelible/testing/intact';
import { lockWaits } from '@indelible/testing/lock-waits';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

const service = await testService();

const waiting = () => lockWaits(service.owner);

test('the service records a call although the caller has hung up', async () => {
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
  // Held up at the record, behind all that a hang-up cancels: that is when the caller goes.
  await service.owner.query('BEGIN');
  await service.owner.query('SELECT FROM log_heads WHERE tenant_id = $1 FOR UPDATE', [id]);
  const socket = connect(Number(url.port), url.hostname);
  await once(socket, 'connect');
  socket.write(request);
  await expect.poll(waiting, { timeout: 20_000 }).toBe(1);
  socket.destroy();
  const { server } = service.app.http;
  const connections = promisify(server.getConnections.bind(server));
  await expect.poll(() => connections(), { timeout: 20_000 }).toBe(0);
  await service.owner.query('COMMIT');
  const recorded = async () => {
    const list = '/api/audit-logs?action=access&resource=export';
    return (await service.call({ url: list, key })).body.data.length;
  };
  await expect.poll(recorded, { timeout: 20_000 }).toBe(1);
  await expectLogIntact(service, id);
});
