import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

/*
 * npm run test:deploy: the files of this folder with the programs that operators run. A test whose
 * programs are missing is not run, and is named.
 */

/** The programs of each test, by its file; `root` stands for its rights. */
const needs: Record<string, readonly string[]> = {
  'image.deploy.test.ts': ['root', 'podman', 'runc', 'mmdebstrap'],
  'pgbouncer.deploy.test.ts': ['pgbouncer'],
  'prometheus.deploy.test.ts': ['prometheus', 'promtool'],
  'proxies.deploy.test.ts': ['nginx', 'caddy'],
  'units.deploy.test.ts': ['systemd-analyze'],
};

const root = join(import.meta.dirname, '..');
const tests = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.deploy.test.ts'),
);

function isThere(program: string): boolean {
  if (program === 'root') return process.getuid?.() === 0;
  const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;
  return spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH } }).status === 0;
}

const missing = (file: string) =>
  (needs[basename(file)] ?? []).filter((program) => !isThere(program));
const able = tests.filter((file) => missing(file).length === 0);
const args = ['run', '--mode', 'deploy', '--root', root, ...able.map((file) => `deploy/${file}`)];
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
if (able.length > 0) {
  const { status } = spawnSync(process.execPath, [vitest, ...args], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
for (const file of tests.filter((file) => !able.includes(file))) {
  console.log(`NOT RUN: deploy/${file}, for want of ${missing(file).join(' and ')}`);
}
