import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { hostCertificate } from '@indelible/testing/host-certificate';
import { eventOf, platformKey, testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../testing/free-port.ts';

/* The files of this folder in Debian's nginx and Caddy, in front of a service. */

const folder = newFolder();
const service = await testService({ TRUST_PROXY: 'loopback' });
const upstream = new URL(await service.app.http.listen({ host: '127.0.0.1', port: 0 }));
const { id: tenantId } = await service.tenant();
const proxies: ChildProcess[] = [];
afterAll(async () => {
  for (const proxy of proxies) if (proxy.kill()) await once(proxy, 'exit');
});
writeFileSync(join(folder, 'cert.pem'), hostCertificate.cert);
writeFileSync(join(folder, 'key.pem'), hostCertificate.key);

const file = (name: string, to: string) =>
  readFileSync(join(import.meta.dirname, name), 'utf8').replace('127.0.0.1:3000', to);

/** Starts the proxy with our file, in front of this upstream; returns its port. */
type Start = (to: string) => Promise<number>;

const nginx: Start = async (to) => {
  const port = await freePort();
  const own = file('nginx.conf', to)
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace(/ssl_certificate .*;/, `ssl_certificate ${folder}/cert.pem;`)
    .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${folder}/key.pem;`);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  // Started as root, nginx would work under an account that cannot enter the folder.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const main = `${user} daemon off; pid ${folder}/${port}.pid; error_log stderr; events {}`;
  const whole = `${main} http { access_log off; ${paths.join(' ')} ${own} }`;
  writeFileSync(join(folder, `${port}.conf`), whole);
  const args = ['-c', join(folder, `${port}.conf`), '-e', 'stderr'];
  proxies.push(spawn('/usr/sbin/nginx', args, { stdio: 'ignore' }));
  return port;
};

const caddy: Start = async (to) => {
  const port = await freePort();
  const own = file('Caddyfile', to).replace(
    'audit.example.com {',
    `https://audit.example.com:${port} {\n tls ${folder}/cert.pem ${folder}/key.pem`,
  );
  const path = join(folder, `${port}.Caddyfile`);
  writeFileSync(path, own.replace('{', '{\n admin off\n auto_https disable_redirects'));
  const env = { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const args = ['run', '--config', path, '--adapter', 'caddyfile'];
  proxies.push(spawn('caddy', args, { env, stdio: 'ignore' }));
  return port;
};

interface Called {
  status: number;
  body: string;
}

/** One HTTPS call through the proxy; `heard` gets each piece of the answer as it arrives. */
function call(
  port: number,
  path: string,
  options: RequestOptions & { send?: string } = {},
  heard = (_: string) => {},
): Promise<Called> {
  const { promise, resolve, reject } = Promise.withResolvers<Called>();
  const host = 'audit.example.com';
  const tls = { servername: host, rejectUnauthorized: false };
  const sent = request({ host: '127.0.0.1', port, path, ...tls, ...options }, (answer) => {
    let body = '';
    answer.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
      heard(body);
    });
    answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
    answer.on('error', reject);
  });
  sent.setHeader('host', host);
  sent.on('error', reject);
  sent.end(options.send);
  return promise;
}

const isUp = (port: number) =>
  expect
    .poll(() =>
      call(port, '/healthz').then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200);

const json = { authorization: `Bearer ${platformKey}`, 'content-type': 'application/json' };

/** A batch of about this many bytes. */
function batchOf(bytes: number): string {
  const events = Array.from({ length: 20 }, () =>
    eventOf({ tenantId, after: { text: 'x'.repeat(250_000) }, before: { text: '' } }),
  );
  const text = JSON.stringify({ events });
  return text + ' '.repeat(bytes - text.length);
}

test.each([
  ['nginx.conf', nginx],
  ['Caddyfile', caddy],
] as const)(
  'over %s a request reaches the service from its own address, and no header forges it',
  async (_, start) => {
    const port = await start(upstream.host);
    await isUp(port);
    expect((await call(port, '/metrics')).status).toBe(404);
    const headers = { ...json, 'x-forwarded-for': '203.0.113.9', 'x-tenant-id': tenantId };
    const read = { ...headers, 'x-access-reason': `over%20${port}` };
    const localAddress = '127.0.0.7';
    expect((await call(port, '/api/audit-logs', { headers: read, localAddress })).status).toBe(200);
    const { rows } = await service.owner.query<{ ip: string }>(
      'SELECT actor_ip AS ip FROM audit_events WHERE reason = $1',
      [`over ${port}`],
    );
    expect(rows).toEqual([{ ip: localAddress }]);
  },
);

test.each([
  ['nginx.conf', nginx],
  ['Caddyfile', caddy],
] as const)(
  'over %s the largest body arrives, and the service or the proxy refuses a larger one',
  async (_, start) => {
    const port = await start(upstream.host);
    await isUp(port);
    const post = (send: string) =>
      call(port, '/api/audit-logs/batch', { method: 'POST', headers: json, send });
    expect((await post(batchOf(8 * 2 ** 20))).status).toBe(200);
    expect((await post(batchOf(8 * 2 ** 20 + 1))).status).toBe(413);
  },
);

test.each([
  ['nginx.conf', nginx],
  ['Caddyfile', caddy],
] as const)('over %s an answer arrives piece by piece, as it is sent', async (_, start) => {
  const answers: ServerResponse[] = [];
  const slow = createServer((request, answer) => {
    if (request.url === '/healthz') return void answer.end();
    answer.writeHead(200, { 'content-type': 'text/csv' }).write('first');
    answers.push(answer);
  }).listen(0, '127.0.0.1');
  await once(slow, 'listening');
  const address = slow.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const port = await start(`127.0.0.1:${address.port}`);
  await isUp(port);
  // The rest is sent only when the first piece has arrived.
  const { body } = await call(port, '/export', {}, (text) => {
    if (text === 'first') answers[0]?.end(' last');
  });
  expect(body).toBe('first last');
  slow.closeAllConnections();
  slow.close();
});
