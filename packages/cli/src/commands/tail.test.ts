import { eventOf, platformKey, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { RunningCli, runCli } from '../testing/run-cli.ts';

const service = await testService();
const url = await service.app.http.listen({ port: 0 });

async function tenantWith(count: number, changes: Record<string, unknown> = {}) {
  const tenant = await service.tenant();
  for (let index = 0; index < count; index++) await record(tenant.key, { ...changes });
  const env = { INDELIBLE_URL: url, INDELIBLE_API_KEY: tenant.key };
  return { ...tenant, env };
}

function record(key: string, changes: Record<string, unknown>) {
  return service.call({ method: 'POST', url: '/api/audit-logs', key, body: eventOf(changes) });
}

const sequences = (stdout: string) =>
  [...stdout.matchAll(/ {2}#(\d+) {2}/g)].map(([, n]) => Number(n));

test('the latest events are shown in the order of the log, as many as asked for', async () => {
  // The tenant and its key have been recorded before, as 0 and 1.
  const { id, env } = await tenantWith(12);
  const ten = await runCli(['tail', '--tenant', id], { env });
  expect([ten.status, ten.stderr]).toEqual([0, '']);
  expect(sequences(ten.stdout)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  expect(ten.stdout).toMatch(
    /ana@example\.com \(admin\) {2}update queue "Support" {2}maxWait: 30 → 60\n/,
  );
  const two = await runCli(['tail', '--tenant', id, '-n', '2'], { env });
  expect(sequences(two.stdout)).toEqual([12, 13]);
  const none = await runCli(['tail', '--tenant', id, '-n', '0'], { env });
  expect(none.stdout).toBe('');
});

test("a tenant's own key needs no --tenant, and a platform key is told that it does", async () => {
  const { env } = await tenantWith(1);
  const own = await runCli(['tail', '-n', '1'], { env });
  expect([own.status, own.stderr, sequences(own.stdout)]).toEqual([0, '', [2]]);
  const args = ['tail', '--reason', 'a look'];
  const platform = await runCli(args, { env: { ...env, INDELIBLE_API_KEY: platformKey } });
  expect(platform).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--tenant must be'),
  });
});

test('after a sequence everything that follows is shown, page after page', async () => {
  const { id, env, key } = await tenantWith(0);
  const events = Array.from({ length: 700 }, () => eventOf());
  await service.call({ method: 'POST', url: '/api/audit-logs/batch', key, body: { events } });
  const { stdout } = await runCli(['tail', '--tenant', id, '--after', '3'], { env });
  expect(sequences(stdout)).toEqual(Array.from({ length: 698 }, (_, index) => index + 4));
});

test('from the start means from the first event on, and not after a sequence as well', async () => {
  const { id, env } = await tenantWith(1);
  const { stdout } = await runCli(['tail', '--tenant', id, '--from-start'], { env });
  expect(sequences(stdout)).toEqual([0, 1, 2]);
  const both = await runCli(['tail', '--tenant', id, '--from-start', '--after', '1'], { env });
  expect(both.status).toBe(2);
});

test('as JSON each event is one line, complete', async () => {
  const { id, env } = await tenantWith(3);
  const { stdout } = await runCli(['tail', '--tenant', id, '-n', '2', '--json'], { env });
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(events).toMatchObject([
    { tenantId: id, sequence: 3 },
    { tenantId: id, sequence: 4, diff: { maxWait: { from: 30, to: 60 } } },
  ]);
});

test('an event cannot write to the terminal of its reader', async () => {
  const hostile = '\u001b[2J\u009b31mowned\u202e\nforged line';
  const resource = { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11', name: hostile };
  const { id, env } = await tenantWith(1, {
    resource,
    diff: { [hostile]: { from: hostile, to: 1 } },
  });
  for (const more of [[], ['--json']]) {
    const { stdout } = await runCli(['tail', '--tenant', id, '-n', '1', ...more], { env });
    expect(stdout).toMatch(/^[^\p{Cc}\u202e]+owned[^\p{Cc}\u202e]+\n$/u);
  }
});

test('with --follow what is recorded later is shown too', async () => {
  const { id, env, key } = await tenantWith(1);
  const cli = new RunningCli(['tail', '--tenant', id, '-n', '1', '--follow', '--interval', '1'], {
    env,
  });
  await expect.poll(() => sequences(cli.stdout)).toEqual([2]);
  await record(key, {});
  await expect.poll(() => sequences(cli.stdout)).toEqual([2, 3]);
  cli.process.kill('SIGINT');
  await cli.ended();
});

test('a platform key must declare a reason, which the tenant then finds in its log', async () => {
  const { id, env } = await tenantWith(1);
  const operator = { ...env, INDELIBLE_API_KEY: platformKey };
  const refused = await runCli(['tail', '--tenant', id], { env: operator });
  expect([refused.status, refused.stdout]).toEqual([2, '']);
  expect(refused.stderr).toContain('reason_required');
  const args = [
    ...['tail', '--tenant', id, '--reason', 'Störung 12: ñ', '--operator-email', 'o@example.com'],
  ];
  expect((await runCli(args, { env: operator })).status).toBe(0);
  const { stdout } = await runCli(['tail', '--tenant', id, '-n', '1', '--json'], { env });
  expect(JSON.parse(stdout)).toMatchObject({
    action: 'access',
    crossTenant: true,
    reason: 'Störung 12: ñ',
    actor: { email: 'o@example.com', role: 'superadmin' },
  });
});
