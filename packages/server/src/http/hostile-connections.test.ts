import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { batchBytesMax } from '@indelible/protocol';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { eventOf, serviceOn, testService } from '../testing/service.ts';

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

/** Also after an error, such as a reset. */
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

test('bodies without a credential have a share of their own, and it is small', async () => {
  const { port } = await listening({ bodyBytesMax: 2 ** 20 });
  const signIn = 'POST /api/session HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';
  const holders = Array.from({ length: 2 }, async () => {
    const socket = await dial(port);
    socket.write(`${signIn}transfer-encoding: chunked\r\n\r\n`);
  });
  await Promise.all(holders);
  const refused = async () => {
    const socket = await dial(port);
    const answer = answerOn(socket);
    socket.write(`${signIn}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`);
    return (await answer).slice(9, 12);
  };
  await expect.poll(refused, soon).toBe('429');
  expect(await record(port, one.key)).toBe('201');
});

test('connections beyond the limit are closed, those that are open are served', async () => {
  const { port } = await listening({ connectionsMax: 2 });
  const first = await dial(port);
  await dial(port);
  const third = await dial(port);
  await closed(third);
  const answer = answerOn(first);
  first.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
  expect(await answer).toMatch(/^HTTP\/1.1 200/);
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
    ...{ method: 'POST', url: '/api/audit-logs/batch', key },
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
