import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/* The files of this folder, by Debian's promtool. */

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
