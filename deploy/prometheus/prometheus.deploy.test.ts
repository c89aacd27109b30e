import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { afterAll, expect, test } from 'vitest';
import { busyService, metricsToken } from '../testing/busy-service.ts';
import { freePort } from '../testing/free-port.ts';
import { dashboardQueries } from '../testing/queries.ts';

/* The files of this folder in Debian's Prometheus, which scrapes a service. */

const folder = newFolder();
const { service, close } = await busyService();
let prometheus: ChildProcess | undefined;
afterAll(async () => {
  if (prometheus?.kill()) await once(prometheus, 'exit');
  await close();
});

const promtool = (...args: string[]) =>
  execFileSync('promtool', args, { cwd: import.meta.dirname, encoding: 'utf8', stdio: 'pipe' });

test('each alert fires when it should, and not before', () => {
  expect(promtool('check', 'rules', 'rules.yaml')).toContain('SUCCESS');
  expect(promtool('test', 'rules', 'rules.test.yaml')).toContain('SUCCESS');
  const read = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8');
  const alerts = [...read('rules.yaml').matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
  const cases = read('rules.test.yaml');
  const tested = (before: string, after: string) =>
    alerts.filter((name) => !new RegExp(`${before}alertname="${name}"${after}`).test(cases));
  expect(tested("labels: 'ALERTS\\{", '')).toEqual([]);
  expect(tested('expr: ALERTS\\{', '.*\\n +exp_samples: \\[\\]')).toEqual([]);
});

/** Runs Prometheus with our configuration, on a service that has just started. */
async function startPrometheus(serviceUrl: string): Promise<string> {
  const here = import.meta.dirname;
  const config = readFileSync(join(here, 'prometheus.yaml'), 'utf8')
    .replaceAll('15s', '1s')
    .replace('127.0.0.1:3000', new URL(serviceUrl).host);
  writeFileSync(join(folder, 'prometheus.yaml'), config);
  writeFileSync(join(folder, 'metrics-token'), metricsToken);
  cpSync(join(here, 'rules.yaml'), join(folder, 'rules.yaml'));
  const listen = `127.0.0.1:${await freePort()}`;
  const args = ['--config.file=prometheus.yaml', `--web.listen-address=${listen}`];
  prometheus = spawn('prometheus', args, { cwd: folder, stdio: 'ignore' });
  return `http://${listen}/api/v1`;
}

interface Answered {
  data?: {
    result?: unknown[];
    groups?: { rules: { name: string; health: string; state: string }[] }[];
  };
}

test('a Prometheus with these files answers every panel of the dashboard, and raises no alert', async () => {
  service.app.background.start({ isWorker: true, ownerUrl: null });
  const api = await startPrometheus(await service.app.http.listen({ host: '127.0.0.1', port: 0 }));
  const ask = async (path: string): Promise<Answered> => {
    const answer = await fetch(`${api}/${path}`).catch(() => null); // it is starting
    return answer?.ok ? ((await answer.json()) as Answered) : {};
  };
  const unanswered = async () => {
    const failures: string[] = [];
    for (const { title, query } of dashboardQueries()) {
      const expression = query.replaceAll('$__rate_interval', '1m');
      const { data } = await ask(`query?query=${encodeURIComponent(expression)}`);
      if (!data?.result?.length) failures.push(`${title}: ${query}`);
    }
    return failures;
  };
  // The first round of checkpoints runs after ten seconds.
  await expect.poll(unanswered, { timeout: 40_000, interval: 1_000 }).toEqual([]);
  const { data } = await ask('rules');
  const rules = data?.groups?.flatMap((group) => group.rules) ?? [];
  expect(rules.length).toBeGreaterThan(10);
  expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  expect(rules.filter(({ state }) => state === 'firing').map(({ name }) => name)).toEqual([]);
});
