import { randomUUID } from 'node:crypto';
import { newFolder } from '@indelible/testing/folders';
import { eventOf, platformKey, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { runCli } from '../testing/run-cli.ts';

const service = await testService();
const url = await service.app.http.listen({ port: 0 });
const env = { INDELIBLE_URL: url, INDELIBLE_API_KEY: platformKey };

const cli = (...args: string[]) => runCli(args, { env });

async function json(...args: string[]) {
  const { status, stdout, stderr } = await cli(...args, '--json');
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

test('a tenant is created with the settings given, or with an id of its own; the plan is required', async () => {
  const id = randomUUID();
  const settings = ['--plan', 'Pro', '--locale', 'es', '--time-zone', 'Europe/Madrid'];
  expect(
    await json('tenant', 'create', 'Acme', '--id', id.toUpperCase(), ...settings),
  ).toMatchObject({
    id,
    name: 'Acme',
    plan: 'Pro',
    locale: 'es',
    timeZone: 'Europe/Madrid',
  });
  const other = await json('tenant', 'create', 'Other', '--plan', 'Starter');
  expect(other).toMatchObject({ name: 'Other', plan: 'Starter' });
  const { status, stderr } = await cli('tenant', 'create', 'None');
  expect([status, stderr]).toEqual([2, expect.stringContaining('--plan')]);
});

test('creating never changes a tenant that exists', async () => {
  const { id } = await json('tenant', 'create', 'First', '--plan', 'Pro');
  const again = await cli('tenant', 'create', 'Second', '--id', id, '--plan', 'Starter');
  expect(again.status).toBe(2);
  expect(again.stderr).toContain(`the tenant ${id} exists: First, Pro`);
});

test('the list shows every tenant, over all pages, and names cannot forge lines', async () => {
  const ids = new Set<string>();
  for (let index = 0; index < 55; index++) ids.add((await service.tenant()).id);
  const forged = await json('tenant', 'create', '\u202eforged\u202e', '--plan', 'Pro');
  const { stdout } = await cli('tenant', 'list');
  const listed = new Set(stdout.split('\n').map((line) => line.slice(0, 36)));
  for (const id of ids) expect(listed).toContain(id);
  expect(stdout).toContain(`${forged.id}  Pro         ⟨U+202E⟩forged⟨U+202E⟩\n`);
});

test('a smaller plan needs a reason, a larger one does not, and neither creates a tenant', async () => {
  const { id } = await json('tenant', 'create', 'Planned', '--plan', 'Pro');
  const refused = await cli('tenant', 'set-plan', id, 'Starter');
  expect(refused.status).toBe(2);
  expect(refused.stderr).toContain('reason_required');
  const smaller = await json('tenant', 'set-plan', id, 'Starter', '--reason', 'contract ended');
  expect(smaller).toMatchObject({ id, plan: 'Starter' });
  expect(await json('tenant', 'set-plan', id, 'Enterprise')).toMatchObject({ plan: 'Enterprise' });
  const unknown = await cli('tenant', 'set-plan', randomUUID(), 'Pro');
  expect([unknown.status, unknown.stderr.includes('not_found')]).toEqual([2, true]);
});

test('a tenant is abandoned with a reason only, and the list shows that it is closed', async () => {
  const { id } = await json('tenant', 'create', 'Failed import', '--plan', 'Pro');
  const refused = await cli('tenant', 'abandon', id);
  expect([refused.status, refused.stderr.includes('--reason')]).toEqual([2, true]);
  const by = ['--reason', 'wrong ids', '--operator-email', 'olga@operators.example'];
  const { closedAt } = await json('tenant', 'abandon', id, ...by);
  const { stdout } = await cli('tenant', 'list');
  expect(stdout).toMatch(new RegExp(`^${id}.*\\(closed ${closedAt}\\)$`, 'm'));
});

test('a new key is shown once and works; revoked, it is refused at once', async () => {
  const { id: tenant } = await json('tenant', 'create', 'Keys', '--plan', 'Pro');
  const scope = ['--scope', 'events:write', 'events:read'];
  const made = await json('key', 'create', '--tenant', tenant, '--name', 'ingest', ...scope);
  const body = eventOf();
  const post = () => service.call({ method: 'POST', url: '/api/audit-logs', key: made.key, body });
  expect((await post()).status).toBe(201);
  const listed = await cli('key', 'list', '--tenant', tenant);
  expect(listed.stdout).toContain(`${made.id}  ingest  events:write,events:read  made `);
  expect(listed.stdout).not.toContain(made.key);
  expect((await cli('key', 'revoke', made.id, '--tenant', tenant)).stdout).toBe(
    `${made.id} is revoked\n`,
  );
  expect((await post()).status).toBe(401);
  expect((await cli('key', 'list', '--tenant', tenant)).stdout).toContain('  revoked 2');
});

test('a platform key can expire; who reads the terminal sees when', async () => {
  const expires = ['--expires', '2999-12-31'];
  const args = [
    ...['key', 'create', '--platform', '--name', 'ci', '--scope', 'tenants:write'],
    ...expires,
  ];
  const { status, stdout } = await cli(...args);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^expires {2}2999-12-31T00:00:00\.000Z$/m);
  expect(stdout).toMatch(/^key {6}idl_\S+$/m);
  expect(stdout).toContain('shown only once');
});

test('every command names a tenant by the own id of the host product', async () => {
  const made = await json('tenant', 'create', 'Hooli', '--id', 'org_7', '--plan', 'Pro');
  expect(made.externalId).toBe('org_7');
  const larger = await json('tenant', 'set-plan', 'org_7', 'Enterprise');
  expect(larger).toMatchObject({ id: made.id, plan: 'Enterprise' });
  const scopes = ['--name', 'host', '--scope', 'events:write'];
  const key = await json('key', 'create', '--tenant', 'org_7', ...scopes);
  expect(key.tenantId).toBe(made.id);
  const verified = await cli(
    'verify',
    ...['--tenant', 'org_7', '--reason', 'a look', '--state', newFolder()],
  );
  expect([verified.status, verified.stdout]).toEqual([0, expect.stringContaining(made.id)]);
  const { stdout } = await cli('tenant', 'list');
  expect(stdout).toContain(`${made.id}  Enterprise  Hooli  (org_7)\n`);
  const wrong = await cli('key', 'list', '--tenant', '!org');
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('by your own id')]);
});
