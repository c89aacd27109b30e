import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../postgres/embedded-postgres.ts';
import { openFolder } from '../testing/data-dir.ts';
import { databaseUrl } from '../testing/global-setup.ts';

/*
 * docs/operations/server.md as it stands there, on an empty PostgreSQL cluster. What needs root is
 * replaced: accounts, systemd, and the folders below /etc, /opt and /var.
 */

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../../..');
const folder = openFolder('recipe');
const postgres = await startEmbeddedPostgres({
  dataDir: join(folder, 'postgres'),
  log: () => {},
  settings: { shared_buffers: '16MB' }, // fsync stays on: the doctor asks for it
});
let service: ChildProcess | undefined;
afterAll(async () => {
  if (service?.kill() && service.exitCode === null) await once(service, 'exit');
  await postgres.stop();
  rmSync(folder, { recursive: true, maxRetries: 10 });
});

function urlOf(login: string): string {
  const url = new URL(databaseUrl(postgres.ownerUrl, 'recipe'));
  [url.username = '', url.password = ''] = login.split(':');
  return url.href;
}

const page = readFileSync(join(root, 'docs/operations/server.md'), 'utf8')
  .replaceAll('/opt/indelible', root)
  .replaceAll('/etc/indelible', join(folder, 'etc'))
  .replaceAll('/var/lib/indelible', join(folder, 'var'))
  // The embedded cluster has a login and a database of these names already.
  .replaceAll('indelible_app', 'recipe_app')
  .replace('CREATE DATABASE indelible', 'CREATE DATABASE recipe')
  .replace(/postgres:\/\/(\w+:[\w-]+)@db\.example\.com\/indelible/g, (_, login) => urlOf(login));
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );

const replaced = `set -euo pipefail
install() { mkdir -m 0700 "\${@: -1}"; }
runuser() { shift 3; "$@"; }
useradd() { :; }
npm() { :; }
systemctl() { :; }
`;
const env = { PATH: process.env.PATH, HOME: folder };
const bash = (script: string) =>
  run('bash', ['-c', replaced + script], { cwd: root, env, timeout: 60_000 });

test('the recipe for a server ends in a service that the doctor finds sound', async () => {
  const superuser = new pg.Client({ connectionString: postgres.ownerUrl });
  superuser.on('error', () => {}); // a failed test leaves it open when the cluster stops
  await superuser.connect();
  for (const sql of blocks('sql').join('').split('\n').filter(Boolean)) await superuser.query(sql);
  await superuser.end();
  const commands = blocks('sh');
  const check = commands.pop() ?? '';
  const { stdout } = await bash(commands.join(''));
  expect(stdout).toMatch(/^applied 0001-/m);

  const [unit = ''] = blocks('ini');
  const [, start] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
  const [, file] = /^EnvironmentFile=(.*)$/m.exec(unit) ?? [];
  const exec = `set -a; . ${file}; export PORT=0; exec ${start} --json`;
  service = spawn('bash', ['-c', exec], { cwd: root, env, stdio: ['ignore', 'pipe', 'ignore'] });
  if (service.stdout === null) throw new Error('the service has no standard output');
  const [line] = await once(createInterface({ input: service.stdout }), 'line');
  const { url } = JSON.parse(line);

  const load = `set -a; . ${file}; set +a\n`;
  const sound = await bash(load + check.replace('http://127.0.0.1:3000', url));
  expect(sound.stdout).not.toMatch(/^(fail|warn)/m);
  expect(sound.stdout).toMatch(/^ok +service: /m);
  const [cron = ''] = blocks('text');
  const retention = await bash(cron.replace(/^[\d* ]+ root /, ''));
  expect(retention.stdout).not.toBe('');
});
