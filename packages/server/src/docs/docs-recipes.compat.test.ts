import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { newFolder } from '@indelible/testing/folders';
import {
  blocksOf,
  compiled,
  compileRecipes,
  project,
  removeRecipes,
} from '@indelible/testing/recipe-project';
import { platformKey, testService } from '@indelible/testing/service';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AuditEvent, createClient, idOf } from '../../../client/src/index.ts';

/*
 * The recipes for frameworks, tests and migration: their code as it stands there,
 * compiled against the packages that users install, and run against a real service.
 */

const run = promisify(execFile);
const service = await testService();
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });
const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';
const ana = {
  id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a',
  email: 'ana@example.com',
  role: 'admin',
  tenantId,
};
const queueId = '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11';
const client = createClient({ url, key: platformKey, tenantId, reason: 'recipes' });
const env = {
  PATH: process.env.PATH,
  INDELIBLE_URL: url,
  INDELIBLE_API_KEY: platformKey,
  TENANT: tenantId,
  PORT: '0',
};
const folder = newFolder();

beforeAll(async () => {
  expect(compileRecipes(), 'what the compiler says of the recipes').toBe('');
  await client.tenants.put(tenantId, { name: 'Initech', plan: 'Enterprise' });
  // A server says where it listens; the recipes leave that to their readers.
  writeFileSync(
    join(project, 'announce.js'),
    `import { Server } from 'node:net';
    const { emit } = Server.prototype;
    Server.prototype.emit = function (name, ...rest) {
      if (name === 'listening') process.stdout.write(this.address().port + '\\n');
      return emit.call(this, name, ...rest);
    };`,
  );
});

const running: ChildProcess[] = [];
afterAll(async () => {
  for (const child of running) {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  removeRecipes();
});

const servers = new Map<string, Promise<string>>();

/** The address of a recipe's server, which is started when it is first asked for. */
function started(recipe: string, program: string): Promise<string> {
  const server = servers.get(recipe) ?? start(recipe, program);
  servers.set(recipe, server);
  return server;
}

async function start(recipe: string, program: string): Promise<string> {
  const args = ['--import', join(project, 'announce.js'), compiled(recipe, program)];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.push(child);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const lines = createInterface({ input: child.stdout });
  const [port] = await Promise.race([once(lines, 'line'), once(child, 'exit')]);
  if (child.exitCode !== null) throw new Error(`${recipe} ended: ${said}`);
  return `http://127.0.0.1:${port}`;
}

interface Sent {
  as?: object;
  body?: object;
  headers?: Record<string, string>;
}

function send(method: string, address: string, { as, body, headers = {} }: Sent = {}) {
  return fetch(address, {
    method,
    headers: {
      'user-agent': 'node',
      ...(as === undefined ? {} : { authorization: JSON.stringify(as) }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** The latest event of an action, with its states. */
async function latest(action: string) {
  const [event] = (await client.page({ action, sort: 'sequence', order: 'desc', limit: 1 })).data;
  if (!event) throw new Error(`no ${action} was recorded`);
  return client.get(event.id);
}

const spoofed = { 'x-forwarded-for': '198.51.100.1' };

test.each([
  ['express', 'server.js'],
  ['fastify', 'server.js'],
  ['hono', 'server.js'],
  ['nestjs', 'main.js'],
])('the recipe for %s records who changed what, from where', async (recipe, program) => {
  const server = await started(recipe, program);
  const change = { as: ana, body: { maxWaitSeconds: 60 }, headers: spoofed };
  const answer = await send('PATCH', `${server}/queues/${queueId}`, change);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ maxWaitSeconds: 60 });
  const { id, email, role } = ana;
  expect(await latest('update')).toMatchObject({
    tenantId,
    actor: { id, email, role, ip: '127.0.0.1', userAgent: 'node' },
    resource: { type: 'queue', id: queueId, name: 'Sales' },
    diff: { maxWaitSeconds: { from: 30, to: 60 } },
  });
});

test('the recipe for Express records sign-ins and failed ones', async () => {
  const server = await started('express', 'server.js');
  const signIn = (email: string, password: string) =>
    send('POST', `${server}/${tenantId}/login`, { body: { email, password } });
  expect((await signIn('bob@example.com', 'wrong')).status).toBe(401);
  expect((await latest('login_failed')).actor.email).toBe('bob@example.com');
  expect((await signIn('hunter2', 'wrong')).status).toBe(401);
  expect((await latest('login_failed')).actor.email).toBeNull();
  // In these tests a user's e-mail is all that there is to know of them.
  expect((await signIn(JSON.stringify(ana), 'right')).status).toBe(200);
  expect(await latest('login')).toMatchObject({ tenantId, actor: { id: ana.id } });
});

test('the recipe for NestJS records deeper down, and whom a guard turns away', async () => {
  const server = await started('nestjs', 'main.js');
  const as = (role: string) =>
    send('DELETE', `${server}/queues/${queueId}`, { as: { ...ana, role } });
  expect((await as('admin')).status).toBe(204);
  expect(await latest('delete')).toMatchObject({
    actor: { id: ana.id },
    before: { name: 'Sales' },
  });
  expect((await as('guest')).status).toBe(403);
  expect(await latest('access_denied')).toMatchObject({
    actor: { role: 'guest', ip: '127.0.0.1' },
  });
});

test('the outbox of the recipe for Fastify commits the event with the change', async () => {
  const { queueRoutes, startDelivery } = await import(compiled('fastify', 'outbox.js'));
  const installed = join(project, 'node_modules/@indelible/client/middleware/fastify.js');
  const [{ default: fastify }, { fastifyAudit }] = [
    await import('fastify'),
    await import(installed),
  ];
  const pool = new pg.Pool({ connectionString: service.ownerUrl });
  await pool.query('CREATE TABLE IF NOT EXISTS queues (id uuid, name text)');
  await pool.query('INSERT INTO queues VALUES ($1, $2)', [queueId, 'Outbox']);
  process.env.INDELIBLE_URL = url;
  process.env.INDELIBLE_API_KEY = platformKey;
  const app = fastify();
  app.register(fastifyAudit({ sink: client, actorOf: () => ana, tenantOf: () => tenantId }));
  app.after(() => queueRoutes(app, pool));
  const stop = await startDelivery(pool);
  const answer = await app.inject({ method: 'DELETE', url: `/queues/${queueId}` });
  expect(answer.statusCode).toBe(204);
  await expect
    .poll(() => latest('delete'), { timeout: 20_000 })
    .toMatchObject({
      resource: { id: queueId, name: 'Outbox' },
      actor: { id: ana.id, ip: '127.0.0.1' },
    });
  await stop();
  await app.close();
  await pool.end();
});

test('the recipe for Next.js records from route handlers and from server actions', async () => {
  Object.assign(process.env, { INDELIBLE_URL: url, INDELIBLE_API_KEY: platformKey });
  const headers = new Headers({ authorization: JSON.stringify(ana), 'user-agent': 'browser' });
  headers.set('x-forwarded-for', '198.51.100.1, 203.0.113.7');
  Object.assign(globalThis, { nextHeaders: headers });
  const { PATCH } = await import(compiled('nextjs', 'app/queues/[id]/route.js'));
  const body = JSON.stringify({ maxWaitSeconds: 90 });
  const request = new Request('http://localhost/queues/1', { method: 'PATCH', headers, body });
  const answer: Response = await PATCH(request, { params: Promise.resolve({ id: queueId }) });
  expect(answer.status).toBe(200);
  expect(await latest('update')).toMatchObject({
    actor: { id: ana.id, ip: '203.0.113.7', userAgent: 'browser' },
    diff: { maxWaitSeconds: { from: 30, to: 90 } },
  });
  const { deleteQueue } = await import(compiled('nextjs', 'app/queues/actions.js'));
  const form = new FormData();
  form.set('id', queueId);
  await deleteQueue(form);
  expect(await latest('delete')).toMatchObject({ actor: { ip: '203.0.113.7' } });
});

test('the recipe for impersonation records the event that it shows', async () => {
  const server = await started('impersonation', 'server.js');
  const operator = {
    id: 'c1a7d1c2-51f4-4d2b-9a4e-0d3f6a1b2c3d',
    email: 'olga@example.com',
    role: 'support',
  };
  const as = { user: ana, impersonator: { operator, reason: 'Ticket 4711' } };
  expect((await send('DELETE', `${server}/queues/${queueId}`, { as })).status).toBe(204);
  const [shown] = blocksOf('impersonation').filter(({ language }) => language === 'json');
  const event = await latest('delete');
  expect(event).toMatchObject({ ...JSON.parse(shown?.code ?? ''), crossTenant: true });
  expect((await send('DELETE', `${server}/queues/${queueId}`, { as: { user: ana } })).status).toBe(
    204,
  );
  expect(await latest('delete')).toMatchObject({ actor: { id: ana.id }, reason: null });
  expect((await send('POST', `${server}/impersonate/${ana.id}`, {})).status).toBe(204);
  expect(await latest('impersonate')).toMatchObject({
    actor: { email: 'olga@example.com' },
    reason: `Ticket 4711; acting as ${ana.id}`,
  });
});

test('the tests of the recipe for testing pass, and a failure reads as it is shown there', async () => {
  const { stdout } = await run(process.execPath, ['--test', compiled('testing', 'app.test.js')], {
    env: { PATH: process.env.PATH },
  });
  expect(stdout).toMatch(/pass 2\b/);
  const installed = join(project, 'node_modules/@indelible/client/testing/index.js');
  const { captureAudit, expectAudited } = await import(installed);
  const audit = captureAudit();
  const resource = { type: 'queue', id: queueId, name: 'Sales' };
  const diff = { maxWaitSeconds: { from: 30, to: 60 } };
  audit.record({
    actor: { id: ana.id, email: ana.email, role: 'admin' },
    action: 'update',
    resource,
    diff,
  });
  const expected = { action: 'update', diff: { maxWaitSeconds: { to: 90 } } };
  const [shown] = blocksOf('testing').filter(({ language }) => language === 'text');
  const message = shown?.code.trimEnd();
  expect(() => expectAudited(audit, expected)).toThrow(expect.objectContaining({ message }));
});

// What commands find in the PATH: the program of this checkout, and a psql that needs no
// installation. It prints rows as \`psql -At\` does.
const shell = `set -euo pipefail
npx() { shift; '${process.execPath}' '${join(import.meta.dirname, '../../../cli/src/main.ts')}' "$@"; }
psql() { '${process.execPath}' rows.mjs "\${@: -2}"; }
`;

test('the quick start records from code, opens the panel, and verifies', async () => {
  const text = readFileSync(join(import.meta.dirname, '../../../../docs/quick-start.md'), 'utf8');
  const product = join(folder, 'product');
  const checkout = join(folder, 'checkout');
  mkdirSync(join(checkout, 'data'), { recursive: true });
  mkdirSync(product, { recursive: true });
  if (!existsSync(join(product, 'node_modules'))) {
    symlinkSync(join(project, 'node_modules'), join(product, 'node_modules'));
  }
  writeFileSync(join(checkout, 'data/platform-api-key'), platformKey, { mode: 0o600 });
  const [, program = ''] = /^```js\n([\s\S]*?)^```$/m.exec(text) ?? [];
  writeFileSync(join(product, 'first-event.mjs'), program);
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
  const commands = blocks.filter((code) => /^(node|npx) /m.test(code)).join('');
  const script = `${shell}${commands}`;
  const home = { PATH: process.env.PATH, HOME: folder, PORT: new URL(url).port };
  const { stdout } = await run('bash', ['-c', script], { cwd: checkout, env: home });
  expect(stdout).toMatch(/^recorded as number \d+ of the log: \{/m);
  expect(stdout).toContain('maxWaitSeconds: { from: 30, to: 60 }');
  expect(stdout).toMatch(/Ana sees it here, within five minutes: http\S+#\S+/);
  expect(stdout).toMatch(/^INTACT: /m);

  const [, token] = /#(\S+)/.exec(stdout) ?? [];
  const opened = await fetch(`${url}/api/session`, {
    method: 'POST',
    body: JSON.stringify({ token }),
    headers: { 'content-type': 'application/json', origin: url },
  });
  const [cookie = ''] = opened.headers.getSetCookie().map((set) => set.split(';')[0]);
  const list = `${url}/api/audit-logs?sort=sequence&order=desc`;
  const shown = await fetch(list, { headers: { cookie } });
  const { data } = (await shown.json()) as { data: { action: string }[] };
  // Verifying, which the reader does later, is recorded too.
  const listed = data.map(({ action }) => action).filter((action) => action !== 'access');
  expect(text).toContain('The list shows four events');
  expect(listed).toEqual(['login', 'create', 'update', 'create']);
});

// Last year's, so that the plan shows it whenever the tests run.
const year = new Date().getUTCFullYear() - 1;
/** The day on which the clocks of Madrid show the hour after two o'clock twice. */
const lastSunday = 31 - new Date(Date.UTC(year, 9, 31)).getUTCDay();

/** Milliseconds that a clock of Madrid counts from 1970: its local time as if it were UTC. */
const clock = (local: string) => Date.parse(`${year}-${local}Z`);

/**
 * Rows of two accounts: a job's, one with an unusable e-mail and a state that is one value, one in
 * the hour that comes twice.
 */
const history = `
  INSERT INTO audit_log VALUES
  (1041, 'acct_1', 'user_42', 'ana@example.com', 'admin', 'queue.updated', '7', 'Sales',
   '{"wait": 30, "note": "a\\\\b\\nc"}', '{"wait": 60, "note": "a\\\\b\\nc"}',
   '203.0.113.7:51234', 'Mozilla/5.0', ${clock('07-01T12:00:00.123')}),
  (1042, 'acct_1', NULL, NULL, '', 'queue.purged', '7', NULL, NULL, 'null', NULL, NULL,
   ${clock('01-15T12:00:00')}),
  (1043, 'acct_1', 'user_43', 'deleted user', ' ', 'ivr.deleted', '3', 'Menu', '"open"', NULL,
   '2001:db8::1', '', ${clock(`10-${lastSunday}T02:30:00`)}),
  (1044, 'acct_1', 'user_42', 'ana@example.com', 'admin', 'queue.created', '8', 'Care', NULL,
   '{"wait": 10}', NULL, NULL, ${clock('07-01T12:00:00.123')}),
  (1045, 'acct_2', 'user_42', 'ana@example.com', 'admin', 'user.updated', '42', 'Ana',
   '{"password": "old"}', '{"password": "new"}', NULL, NULL, ${clock('07-02T00:30:00')}),
  (1046, 'acct_2', 'user_44', 'bob@example.com', 'agent', 'page.viewed', '1', NULL, NULL, NULL,
   NULL, NULL, ${clock('07-03T08:00:00')})`;

const rowsProgram = `
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
const pg = createRequire(${JSON.stringify(import.meta.filename)})('pg');
const [file, connectionString] = process.argv.slice(2);
const client = new pg.Client({ connectionString, types: { getTypeParser: () => (text) => text } });
await client.connect();
const { rows } = await client.query({ text: readFileSync(file, 'utf8'), rowMode: 'array' });
process.stdout.write(rows.map(([text]) => text + '\\n').join(''));
await client.end();
`;

test('the recipe for a home-grown table moves each row once, at its moment, and counts them', async () => {
  const blocks = blocksOf('migrate-from-audit-table');
  const code = (language: string) => blocks.filter((block) => block.language === language);
  const [table, query] = code('sql');
  const [importing, mending] = code('sh');
  await service.owner.query('SET search_path = public');
  await service.owner.query(`DROP TABLE IF EXISTS audit_log; ${table?.code}`);
  await service.owner.query(history);
  mkdirSync(join(folder, 'data'), { recursive: true });
  writeFileSync(join(folder, 'data/platform-api-key'), platformKey, { mode: 0o600 });
  writeFileSync(join(folder, 'export.sql'), query?.code ?? '');
  writeFileSync(join(folder, 'rows.mjs'), rowsProgram);
  const commands = `${shell}${importing?.code}${mending?.code}`;
  writeFileSync(join(folder, 'script'), commands);
  const reached = { PORT: new URL(url).port, HOST_DATABASE_URL: service.ownerUrl };
  const home = { PATH: process.env.PATH, HOME: folder, ...reached };
  const migrate = () => run('bash', ['script'], { cwd: folder, env: home });

  // Looking at a page is nothing for an audit log: that line is rejected, and the query mended.
  const { stdout } = await migrate();
  expect(stdout).toContain('"line":5');
  const lines = readFileSync(join(folder, 'history.ndjson'), 'utf8');
  expect(lines.trimEnd().split('\n')).toHaveLength(6);
  await service.owner.query("UPDATE audit_log SET action = 'queue.viewed' WHERE id = 1046");
  await migrate();

  const eventsOf = async (account: string) => {
    const of = createClient({ url, key: platformKey, tenantId: account, reason: 'recipes' });
    const events: AuditEvent[] = [];
    for await (const { id } of of.list({ to: `${year}-11-01`, order: 'asc' })) {
      events.push(await of.get(id));
    }
    return events;
  };
  const [purged, updated, created, deleted] = await eventsOf('acct_1');
  expect(purged).toMatchObject({
    timestamp: `${year}-01-15T11:00:00.000Z`,
    actor: { id: '00000000-0000-0000-0000-000000000000', email: null, role: 'system', ip: null },
    action: 'purged',
    after: null,
  });
  expect(updated).toMatchObject({
    timestamp: `${year}-07-01T10:00:00.123Z`,
    actor: {
      id: idOf.actor('acct_1', 'user_42'),
      externalId: 'user_42',
      email: 'ana@example.com',
      ip: '203.0.113.7',
    },
    resource: { type: 'queue', externalId: '7', name: 'Sales' },
    diff: { wait: { from: 30, to: 60 } },
    before: { wait: 30, note: 'a\\b\nc' },
  });
  expect(created).toMatchObject({
    timestamp: `${year}-07-01T10:00:00.123Z`,
    resource: { name: 'Care' },
  });
  expect(deleted).toMatchObject({
    timestamp: `${year}-10-${lastSunday}T01:30:00.000Z`,
    actor: { email: null, role: 'unknown', ip: '2001:db8::1', userAgent: null },
    before: { value: 'open' },
    asSent: { '/actor/email': 'deleted user' },
  });
  expect((await eventsOf('acct_2')).map(({ timestamp }) => timestamp)).toEqual([
    `${year}-07-01T22:30:00.000Z`,
    `${year}-07-03T06:00:00.000Z`,
  ]);

  const compare = [compiled('migrate-from-audit-table', 'compare.js'), `${year}-11-01T00:00:00Z`];
  const counted = await run(process.execPath, compare, { env: { ...env, ...home } });
  expect(counted.stdout).toBe(code('text')[0]?.code);
});
