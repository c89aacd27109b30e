import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { batchBytesMax } from '@indelible/protocol';
import { admin, viewerToken } from '@indelible/testing/browser';
import { eventOf, serviceOn, testService } from '@indelible/testing/service';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { addressBlock } from './ip-range.ts';

/* Connections that hold what they take: each bound is reached, and others are served. */

const service = await testService();
const [one, other] = [await service.tenant(), await service.tenant()];
const event = JSON.stringify(eventOf());
const soon = { timeout: 10_000 };

type Rest = Parameters<typeof serviceOn>;

/** A process of its own limits, listening. */
async function listening(...limits: [Rest[4], Rest[5]?]) {
  const { app, close } = await serviceOn(service.servingUrl, service.clock, {}, 2, ...limits);
  await app.http.listen({ port: 0, host: '127.0.0.1' });
  onTestFinished(close);
  return { app, port: Number(new URL(app.http.listeningOrigin).port) };
}

async function dial(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  socket.on('error', () => {}); // the service may break off while we send
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Resolves also after an error, such as a reset. */
const closed = (socket: Socket) => new Promise((done) => socket.once('close', done));

const head = (path: string, key: string, bytes: number) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
  `content-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`;

/** The first answer on this connection, or '' when it is closed without one. */
function answerOn(socket: Socket): Promise<string> {
  return Promise.race([
    once(socket, 'data').then(([text]) => String(text)),
    closed(socket).then(() => ''),
  ]);
}

async function record(port: number, key: string): Promise<string> {
  const socket = await dial(port);
  const answer = answerOn(socket);
  socket.write(head('/api/audit-logs', key, Buffer.byteLength(event)) + event);
  return (await answer).slice(9, 12);
}

test('a request whose head or body does not arrive in time is answered 408, and closed', async () => {
  const { port } = await listening({ requestMs: 300 });
  const halves = ['', 'GET / HT', head('/api/audit-logs', one.key, 1_000), 'GET / HTTP/1.1\r\nho'];
  const answers = halves.map(async (half) => {
    const socket = await dial(port);
    let answer = '';
    socket.on('data', (text) => {
      answer += text;
    });
    socket.write(half);
    await closed(socket);
    return answer.slice(9, 12);
  });
  expect(await Promise.all(answers)).toEqual(['408', '408', '408', '408']);
});

test('unfinished bodies of a tenant take its share alone, and give it back when they end', async () => {
  const { port } = await listening({ bodyBytesMax: 4 * batchBytesMax, roomWaitMs: 0 });
  const batch = head('/api/audit-logs/batch', one.key, batchBytesMax);
  const hold = async () => {
    const socket = await dial(port);
    socket.write(`${batch}{"events":[`);
    return socket;
  };
  let holder = await hold();
  const refused = async () => {
    // The one before may have come first, and then it was this one that was refused.
    if (holder.readableLength > 0 || holder.closed) holder = await hold();
    return record(port, one.key);
  };
  await expect.poll(refused, soon).toBe('429');
  expect(await record(port, other.key)).toBe('201');
  holder.destroy();
  await expect.poll(() => record(port, one.key), soon).toBe('201');
});

test('however many tenants hold large bodies, others have room for theirs', async () => {
  const { port } = await listening({ bodyBytesMax: 4 * batchBytesMax, roomWaitMs: 0 });
  const hold = async () => {
    const { key } = await service.tenant();
    const holder = await dial(port);
    holder.write(`${head('/api/audit-logs/batch', key, batchBytesMax)}{"events":[`);
    const isRefused = () => holder.readableLength > 0 || holder.closed;
    const held = async () => (isRefused() ? 'refused' : record(port, key));
    await expect.poll(held, soon).toMatch(/refused|429/);
  };
  for (let tenants = 0; tenants < 4; tenants++) await hold();
  expect(await record(port, other.key)).toBe('201');
});

test('a body waits, unread, until its tenant has room, and is recorded then', async () => {
  const { port } = await listening({ bodyBytesMax: 4 * batchBytesMax });
  const holder = await dial(port);
  holder.write(`${head('/api/audit-logs/batch', one.key, batchBytesMax)}{"events":[`);
  let waits = Promise.resolve('');
  const outcome = () => {
    waits = record(port, one.key);
    const others = record(port, other.key).then(() => record(port, other.key));
    return Promise.race([waits, others.then((status) => `waits, others ${status}`)]);
  };
  await expect.poll(outcome, soon).toBe('waits, others 201');
  holder.destroy();
  expect(await waits).toBe('201');
});

/** The beginning of a sign-in from a page of the service, or of another site. */
const signInHead = (bytes: number, origin: string) =>
  `POST /api/session HTTP/1.1\r\nhost: x\r\norigin: ${origin}\r\n` +
  `content-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`;

/** A person opens a connection and signs in by a link. */
async function signIn(app: Parameters<typeof viewerToken>[0], port: number): Promise<string> {
  const token = await viewerToken(app, { tenantId: one.id, actor: admin() });
  const body = JSON.stringify({ token });
  const socket = await dial(port);
  const answer = answerOn(socket);
  socket.write(signInHead(body.length, `http://127.0.0.1:${port}`) + body);
  return (await answer).slice(9, 12);
}

test('a page of another site is refused before the body of its sign-in arrives', async () => {
  const { port } = await listening({});
  const socket = await dial(port);
  const answer = answerOn(socket);
  socket.write(signInHead(1_000, 'https://evil.example'));
  expect((await answer).slice(9, 12)).toBe('403');
});

test('while a stranger keeps 130 sign-ins half sent, a person signs in', async () => {
  const { app, port } = await listening({});
  let gone = 0;
  for (let half = 0; half < 130; half++) {
    const socket = await dial(port);
    socket.resume().once('close', () => void gone++);
    socket.write(`${signInHead(1_000, `http://127.0.0.1:${port}`)}{"token":`);
  }
  await expect.poll(() => gone, soon).toBe(130 - 16);
  expect(await signIn(app, port)).toBe('200');
  expect(gone).toBe(130 - 15); // the oldest gave way
});

test('while a stranger holds all connections by line breaks, a person signs in', async () => {
  const { app, port } = await listening({ connectionsMax: 20 });
  const used = await dial(port);
  const recorded = answerOn(used);
  used.write(head('/api/audit-logs', one.key, Buffer.byteLength(event)) + event.slice(0, 10));
  const held: Socket[] = [];
  while (held.length < 19) held.push(await dial(port));
  const [first, ...others] = held.map((socket) => closed(socket).then(() => socket));
  for (const socket of held) socket.write('\r\n');
  expect(await signIn(app, port)).toBe('200');
  expect(await Promise.race([first, ...others])).toBe(held[0]);
  used.write(event.slice(10));
  expect((await recorded).slice(9, 12)).toBe('201'); // its credential keeps it from being closed
});

test('a body without a credential has its own time and size', async () => {
  const { port } = await listening({ strangerBodyMs: 100 });
  const origin = `http://127.0.0.1:${port}`;
  const statuses = [1_000, 24 * 1_024 + 1].map(async (bytes) => {
    const socket = await dial(port);
    const answer = answerOn(socket);
    socket.write(signInHead(bytes, origin));
    return (await answer).slice(9, 12);
  });
  expect(await Promise.all(statuses)).toEqual(['408', '413']);
});

test('a machine with a network of IPv6 is one caller', () => {
  expect(addressBlock('2001:db8:0:1::1')).toBe(addressBlock('2001:DB8:0:1:ffff::2'));
  expect(addressBlock('2001:db8:0:1::1')).not.toBe(addressBlock('2001:db8:0:2::1'));
  expect(addressBlock('::ffff:192.0.2.1')).toBe('192.0.2.1');
});

test('a reader that stops reading is closed, on every route', async () => {
  const { app, port } = await listening({ stalledMs: 100 });
  const connections = () =>
    new Promise((resolve) => app.http.server.getConnections((_, count) => resolve(count)));
  const socket = await dial(port);
  socket.pause();
  // More than the system takes ahead, whatever its buffers.
  socket.write('GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(60));
  await expect.poll(connections, soon).toBe(1);
  await expect.poll(connections, soon).toBe(0);
});

/** A tenant with a page of 7.5 MiB, and how it is asked for. */
async function largePage() {
  const { key } = await service.tenant();
  const resource = { type: 'queue', id: randomUUID() };
  const before = { text: 'x'.repeat(250_000) };
  const events = Array.from({ length: 15 }, () => eventOf({ resource, before, after: before }));
  const recorded = await service.call({
    method: 'POST',
    url: '/api/audit-logs/batch',
    key,
    body: { events },
  });
  expect(recorded.status).toBe(200);
  const path = `/api/audit-logs?include=state&resource_id=${resource.id}`;
  const ask = `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`;
  return {
    /** A connection on which the page has begun, and is not read. */
    async unread(port: number) {
      const reader = await dial(port);
      reader.write(ask);
      // Before others ask: else one of them could take the share, and this one be refused.
      await once(reader, 'readable');
      expect(String(reader.read(12))).toBe('HTTP/1.1 200');
      return reader;
    },
    async status(port: number) {
      const socket = await dial(port);
      const answer = answerOn(socket);
      socket.write(ask);
      return (await answer).slice(9, 12);
    },
  };
}

test('answers that are not read take a share of their tenant, and give it back', async () => {
  const { port } = await listening({ bodyBytesMax: 4 * batchBytesMax });
  const page = await largePage();
  const reader = await page.unread(port);
  await expect.poll(() => page.status(port), soon).toBe('429');
  reader.destroy();
  await expect.poll(() => page.status(port), soon).toBe('200');
});

test('an answer that is read for long ends when another one has no room', async () => {
  const { port } = await listening({ bodyBytesMax: 4 * batchBytesMax, requestMs: 300 });
  const page = await largePage();
  const reader = await page.unread(port);
  const hasEnded = closed(reader);
  await expect.poll(() => page.status(port), soon).toBe('200');
  reader.resume();
  await hasEnded;
  expect(reader.bytesRead).toBeLessThan(7 * 2 ** 20);
});

test('exports that are sent and not read are bounded, and each tenant leaves room for others', async () => {
  const { port } = await listening({ exportsSentMax: 4 });
  const state = { text: randomBytes(180_000).toString('base64') };
  const events = Array.from({ length: 15 }, () => eventOf({ before: state, after: state }));
  const body = '{"format":"ndjson","filters":{}}';
  const ask = async ({ key }: typeof one) => {
    const reader = await dial(port);
    reader.write(head('/api/audit-logs/exports', key, body.length) + body);
    const begun = once(reader, 'readable').then(() => String(reader.read(12)).slice(9));
    return { reader, begun };
  };
  const [crowd, quiet] = [await service.tenant(), await service.tenant()];
  for (const { key } of [crowd, crowd, quiet]) {
    const batch = { method: 'POST', url: '/api/audit-logs/batch', key, body: { events } } as const;
    expect((await service.call(batch)).status).toBe(200);
  }
  const held = [await ask(crowd), await ask(crowd)];
  for (const { begun } of held) expect(await begun).toBe('200');
  const third = await ask(crowd);
  const other = await ask(quiet);
  expect(await Promise.race([other.begun, third.begun.then(() => 'the third')])).toBe('200');
  other.reader.destroy();
  held[0]?.reader.destroy();
  expect(await third.begun).toBe('200');
});

test('a caller who hangs up while its key is looked up gives its share back', async () => {
  const bodyBytes = 64 * 1024;
  const { app, port } = await listening({ bodyBytesMax: 4 * bodyBytes });
  const connections = () =>
    new Promise((resolve) => app.http.server.getConnections((_, count) => resolve(count)));
  const path = '/api/audit-logs/exports';
  await service.owner.query('BEGIN; LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE');
  const leaver = await dial(port);
  const asked = once(app.http.server, 'request');
  leaver.write(head(path, one.key, bodyBytes));
  await asked;
  leaver.destroy();
  await expect.poll(connections, soon).toBe(0);
  await service.owner.query('ROLLBACK');
  const status = async () => {
    const socket = await dial(port);
    const answer = answerOn(socket);
    const body = JSON.stringify({ text: 'x'.repeat(bodyBytes - 100) });
    socket.write(head(path, one.key, body.length) + body);
    return (await answer).slice(9, 12);
  };
  expect([await status(), await status()]).toEqual(['422', '422']);
});

test('a caller who hangs up before its export begins is no error in the log', async () => {
  const lines: { level: number; msg: string }[] = [];
  const logger = pino({ level: 'trace' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const { app, port } = await listening({}, { logger });
  const connections = () =>
    new Promise((resolve) => app.http.server.getConnections((_, count) => resolve(count)));
  await service.owner.query('BEGIN; LOCK TABLE exports IN SHARE MODE');
  const leaver = await dial(port);
  const asked = once(app.http.server, 'request');
  const body = JSON.stringify({ filters: {}, format: 'ndjson' });
  leaver.write(head('/api/audit-logs/exports', one.key, body.length) + body);
  await asked;
  const waiting = `SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted
    AND relation = 'exports'::regclass`;
  const queued = async () => (await service.owner.query(waiting)).rows[0].n;
  await expect.poll(queued, soon).toBe(1);
  leaver.destroy();
  await expect.poll(connections, soon).toBe(0);
  await service.owner.query('ROLLBACK');
  await expect.poll(() => lines.map(({ msg }) => msg), soon).toContain('the caller has hung up');
  expect(lines.filter(({ level }) => level > 30)).toEqual([]);
});
