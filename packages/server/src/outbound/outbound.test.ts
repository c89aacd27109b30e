import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import https from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { hostCertificate } from '@indelible/testing/host-certificate';
import { countConnections } from '@indelible/testing/http-receiver';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { anyCharacter } from '../../../protocol/src/testing/any-character.ts';
import { createOutbound, keptText, type OutboundDeps, type OutboundResult } from './outbound.ts';

interface Received {
  method: string | undefined;
  headers: Record<string, unknown>;
  body: string;
  url: string | undefined;
}

/** A host on loopback that answers like this. */
async function host(answer: RequestListener) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method, url } = request;
    received.push({ method, headers: request.headers, body, url });
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return { received, port, url: `http://127.0.0.1:${port}/restore` };
}

const headers = { 'content-type': 'application/json', 'x-own': 'kept' };

/** Calls `url` as the service would. */
function call(url: string, deps: Partial<OutboundDeps> = {}): Promise<OutboundResult> {
  const outbound = createOutbound({ allowPrivate: true, ...deps });
  return outbound({ method: 'POST', url, headers, body: '{"text":"ñ"}' });
}

const failed = (reason: string, mayPass: boolean) => ({ kind: 'failed', reason, mayPass });
const reasonOf = (result: OutboundResult) => (result.kind === 'failed' ? result.reason : result);
const ok: RequestListener = (_, response) => void response.end('{"status":"applied"}');

test('a call arrives with its headers and its body, and the answer comes back', async () => {
  const { url, received } = await host(ok);
  expect(await call(url)).toEqual({
    kind: 'answered',
    status: 200,
    retryAfter: null,
    text: '{"status":"applied"}',
    complete: true,
  });
  expect(received[0]).toMatchObject({
    method: 'POST',
    body: '{"text":"ñ"}',
    headers: { ...headers, 'user-agent': 'Indelible', 'content-length': '13' },
  });
});

test('a call may ask without sending anything', async () => {
  const { url, received } = await host(ok);
  const outbound = createOutbound({ allowPrivate: true });
  const result = await outbound({ method: 'GET', url, headers: {}, body: '' });
  expect([result.kind, received[0]?.method, received[0]?.body]).toEqual(['answered', 'GET', '']);
});

test('a header that could begin another one is not sent', async () => {
  const { url, received } = await host(ok);
  const outbound = createOutbound({ allowPrivate: true });
  const forged = { authorization: 'Bearer a\r\nx-own: forged' };
  const result = await outbound({ method: 'POST', url, headers: forged, body: '{}' });
  expect([result.kind, received]).toEqual(['failed', []]);
  expect(reasonOf(result)).not.toContain('Bearer');
});

test('plain http is not called, unless private calls are allowed', async () => {
  const { url, received } = await host(ok);
  const result = await call(url, { allowPrivate: false });
  expect(result).toMatchObject({ kind: 'failed', mayPass: false });
  expect(reasonOf(result)).toContain('https');
  expect(received).toEqual([]);
});

test('a URL with credentials is never followed', async () => {
  const { port, received } = await host(ok);
  const result = await call(`http://user:word@127.0.0.1:${port}/`);
  expect(result).toMatchObject({ kind: 'failed', mayPass: false });
  expect(JSON.stringify(result)).not.toContain('word@');
  expect(received).toEqual([]);
});

const spellings = [
  ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '10.0.0.8', '192.168.0.1'],
  ...['169.254.169.254', '100.64.0.1', '0.0.0.0', '0', '[::1]', '[::]', '[fd00::1]', '[fe80::1]'],
  ...['[::ffff:127.0.0.1]', '[::ffff:8.8.8.8]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]'],
  ...['[2001:0:4136:e378:8000:63bf:3fff:fdd2]', '224.0.0.1', '255.255.255.255'],
];

test.each(spellings)('https://%s is refused without a connection', async (literal) => {
  const resolve = () => Promise.reject(new Error('a literal address was looked up'));
  const result = await call(`https://${literal}:1/`, { allowPrivate: false, resolve });
  expect(result).toEqual(failed('its address is not a public one', false));
});

test('a name that changes its address between two calls is judged at each connection', async () => {
  const { sockets, port } = await countConnections();
  const stop = new AbortController();
  let looks = 0;
  // First a public address, at which the call ends before it sends anything; then ours.
  const resolve = async () => {
    looks += 1;
    if (looks === 1) stop.abort();
    return [{ address: looks === 1 ? '192.0.33.8' : '127.0.0.1', family: 4 }];
  };
  const url = `https://host.example:${port}/`;
  const deps = { allowPrivate: false, resolve };
  const first = { method: 'POST', url, headers, body: '{}', signal: stop.signal } as const;
  expect(reasonOf(await createOutbound(deps)(first))).toContain('ABORT_ERR');
  expect(reasonOf(await call(url, deps))).toBe('its address is not a public one');
  expect([looks, sockets.length]).toEqual([2, 0]);
});

test('the socket gets the addresses that were judged: a name is looked up once a call', async () => {
  const { port, received } = await host(ok);
  let looks = 0;
  const resolve = async () => {
    looks += 1;
    return [{ address: '127.0.0.1', family: 4 }];
  };
  await call(`http://host.example:${port}/`, { resolve });
  expect([looks, received[0]?.headers.host]).toEqual([1, `host.example:${port}`]);
});

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) is an answer and not followed',
  async (code) => {
    const elsewhere = await host(ok);
    const { url } = await host((_, response) => {
      response.writeHead(code, { location: elsewhere.url }).end();
    });
    expect(await call(url)).toMatchObject({ kind: 'answered', status: code });
    expect(elsewhere.received).toEqual([]);
  },
);

test('the first 64 KiB of an endless answer are read, and then it is left', async () => {
  let sent = 0;
  let left = false;
  const { url } = await host((_, response) => {
    response.on('close', () => {
      left = true;
    });
    const more = () => {
      while (!left && response.write(Buffer.alloc(16_384, 'x'))) sent += 16_384;
      sent += 16_384;
    };
    response.on('drain', more);
    more();
  });
  const result = await call(url);
  expect(result).toMatchObject({ kind: 'answered', status: 200, complete: false });
  expect(result.kind === 'answered' && result.text.length).toBe(65_536);
  await expect.poll(() => left).toBe(true);
  expect(sent).toBeLessThan(32 * 2 ** 20);
});

test('an answer of exactly 64 KiB is complete', async () => {
  const { url } = await host((_, response) => void response.end('x'.repeat(65_536)));
  expect(await call(url)).toMatchObject({ kind: 'answered', complete: true });
});

test.each<[string, RequestListener]>([
  ['says nothing', () => {}],
  ['sends headers and then nothing', (_, response) => void response.writeHead(200).write('{')],
  [
    'says “early hints” for ever',
    (_, response) => response.writeEarlyHints({ link: '<a>; rel=b' }),
  ],
])('a host that %s is given up in time', async (_, answer) => {
  const { url } = await host(answer);
  const result = await call(url, { timeoutMs: 200 });
  expect(result).toEqual(failed('there was no answer within 0.2 s', true));
});

test('a host that wants to speak another protocol is left at once', async () => {
  const text = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n';
  const server = createTcpServer((socket) => void socket.once('data', () => socket.write(text)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const reason = 'the connection ended without an answer';
  expect(await call(`http://127.0.0.1:${port}/`)).toEqual(failed(reason, true));
});

test('a name server that does not answer is given up in time', async () => {
  const resolve = () => new Promise<never>(() => {});
  const result = await call('https://host.example/', { resolve, timeoutMs: 50 });
  expect(reasonOf(result)).toBe('there was no answer within 0.05 s');
});

test('a fault of the network may pass, and is told without addresses', async () => {
  const { port } = await host(ok);
  const { url: broken } = await host((request) => void request.socket.destroy());
  const notFound = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
  const results = [
    await call(`http://127.0.0.1:1/`),
    await call(broken),
    await call('http://host.example/', { resolve: notFound }),
    // TLS to a port that does not speak it.
    await call(`https://127.0.0.1:${port}/`),
  ];
  expect(results.map(({ kind }) => kind)).toEqual(['failed', 'failed', 'failed', 'failed']);
  for (const result of results) {
    expect(result).toMatchObject({ mayPass: true });
    expect(reasonOf(result)).not.toMatch(/127\.0|:\d/);
  }
  expect(results.slice(0, 3).map(reasonOf)).toEqual([
    'the connection was refused',
    'the connection was broken',
    'its name cannot be resolved',
  ]);
});

test('over https only a host whose certificate is trusted, and names it, is called', async () => {
  let requests = 0;
  const server = https.createServer(hostCertificate, (_, response) => {
    requests += 1;
    response.end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const deps = { resolve: async () => [{ address: '127.0.0.1', family: 4 }] };
  const untrusted = await call(`https://host.example:${port}/`, deps);
  expect(reasonOf(untrusted)).toContain('DEPTH_ZERO_SELF_SIGNED_CERT');
  const trusted = getCACertificates();
  setDefaultCACertificates([...trusted, hostCertificate.cert]);
  onTestFinished(() => setDefaultCACertificates(trusted));
  expect(await call(`https://host.example:${port}/`, deps)).toMatchObject({ status: 200 });
  const other = await call(`https://other.example:${port}/`, deps);
  expect(reasonOf(other)).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  expect(requests).toBe(1);
});

test('proxy variables change nothing', async () => {
  const { url, received } = await host(ok);
  const proxy = await host(ok);
  const script = `import { createOutbound } from ${JSON.stringify(join(import.meta.dirname, 'outbound.ts'))};
    const call = { method: 'POST', url: ${JSON.stringify(url)}, headers: {}, body: '{}' };
    const result = await createOutbound({ allowPrivate: true })(call);
    console.log(result.kind);`;
  const at = `http://127.0.0.1:${proxy.port}`;
  const proxies = { HTTP_PROXY: at, http_proxy: at, HTTPS_PROXY: at, ALL_PROXY: at };
  const env = { PATH: process.env.PATH, NODE_USE_ENV_PROXY: '1', ...proxies };
  const args = ['--input-type=module', '-e', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  expect([stdout.trim(), received.length, proxy.received.length]).toEqual(['answered', 1, 0]);
});

test('a kept answer is one line of whole characters within 1 KiB', () => {
  expect(keptText(' no\r\n\tway \u0000 ')).toBe('no way');
  expect(keptText('x'.repeat(5_000))).toHaveLength(1_024);
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 3_000 }), (text) => {
      const kept = keptText(text);
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(1_024);
      expect(kept).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
      expect(kept.isWellFormed()).toBe(true);
      if (!text.includes('\ufffd')) expect(kept).not.toContain('\ufffd');
    }),
  );
});
