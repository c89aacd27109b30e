import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { alertCalls, watchedTenant } from '@indelible/testing/alert-setup';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { runCli } from '../testing/run-cli.ts';

const service = await testService();
const url = await service.app.http.listen({ port: 0 });

const tenant = await watchedTenant(service);
const alerts = alertCalls(service, tenant);

function rules(...args: string[]) {
  const env = { INDELIBLE_URL: url, INDELIBLE_API_KEY: tenant.key };
  return runCli(['rules', ...args, '--tenant', tenant.id], { env });
}

test('a rule of a file is made and listed beside the built-in ones, which are switched on by name', async () => {
  const file = join(service.dataDir, 'rule.json');
  const filters = { action: ['publish'] };
  writeFileSync(file, JSON.stringify({ name: 'Published', kind: 'match', filters }));
  const made = await rules('add', file);
  expect([made.status, made.stdout]).toEqual([
    0,
    expect.stringMatching(/ on {3}Published \(match\)/),
  ]);
  const on = await rules('on', 'api_key_made');
  expect(on.stdout).toContain('on   API key made (match, api_key_made, recommended)');
  const listed = await rules('list', '--json');
  const enabled = listed.stdout.split('\n').filter((line) => line.includes('"enabled":true'));
  expect(enabled).toHaveLength(2);
  const recommended = await rules('on', '--recommended');
  expect(recommended.stdout.split('\n').length).toBeGreaterThan(15);
  expect((await rules('on')).status).toBe(2);
  expect((await rules('off', 'no_such_rule')).stderr).toContain('there is no rule no_such_rule');
  const [, id = ''] = /^(\S+)/.exec(made.stdout) ?? [];
  expect(await rules('remove', id)).toMatchObject({ status: 0, stdout: `${id} is removed\n` });
  const builtIn = await rules('remove', 'api_key_made');
  expect(builtIn.stdout).toBe('api_key_made is as it was at first\n');
  writeFileSync(file, '{');
  expect((await rules('add', file)).stderr).toContain('is not a rule as JSON');
});

test('a test draws the alerts of each day, and names the last ones', async () => {
  const file = join(service.dataDir, 'tested.json');
  writeFileSync(file, JSON.stringify({ name: 'x', kind: 'match', filters: { action: 'publish' } }));
  const day = 86_400_000;
  const at = (days: number) => new Date(service.clock.now - days * day).toISOString();
  await alerts.record({ timestamp: at(40) }, { timestamp: at(3) }, { timestamp: at(3) }, {});
  service.clock.now += 1;
  const tested = await rules('test', file, '--since', '30d');
  expect([tested.status, tested.stdout]).toEqual([
    0,
    expect.stringMatching(/3 alerts in 3[01] days/),
  ]);
  expect(tested.stdout).toMatch(new RegExp(`${at(3).slice(0, 10)} {2}█{40} 2\n`));
  const whole = await rules('test', file, '--since', at(41), '--json');
  expect(JSON.parse(whole.stdout)).toMatchObject({ total: 4, matched: 4 });
  const builtIn = await rules('test', 'first_change_of_kind', '--since', '30d');
  expect(builtIn.stdout).toMatch(/alerts in 3[01] days/);
  expect((await rules('test', file, '--since', 'soon')).status).toBe(2);
});
