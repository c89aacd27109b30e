import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { newFolder } from '@indelible/testing/folders';
import { databaseUrl } from '@indelible/testing/global-setup';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtPanel } from '../../../../e2e/built-panel.ts';
import { buildServer } from '../../build.ts';
import { startEmbeddedPostgres } from '../postgres/embedded-postgres.ts';

/*
 * docs/operations/server.md as it stands there, with the folder that a server installs, on an empty
 * PostgreSQL cluster. What needs root is replaced: accounts, systemd, and the folders below /etc,
 * /opt and /var.
 */

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../../..');
const folder = newFolder();
const opt = join(folder, 'opt');
const postgres = await startEmbeddedPostgres({
  dataDir: join(folder, 'postgres'),
  log: () => {},
  settings: { shared_buffers: '16MB' }, // fsync stays on: the doctor asks for it
});
let service: ChildProcess | undefined;
beforeAll(async () => {
  await builtPanel();
  await buildServer(opt);
  await run('npm', ['ci', '--prefer-offline'], { cwd: opt });
}, 300_000);
afterAll(async () => {
  await stopUnit();
  await postgres.stop();
  rmSync(folder, { recursive: true, maxRetries: 10 });
});

function urlOf(login: string): string {
  const url = new URL(databaseUrl(postgres.ownerUrl, 'recipe'));
  [url.username = '', url.password = ''] = login.split(':');
  return url.href;
}

const etc = join(folder, 'etc');
const keyFile = join(etc, 'signing-key.pem');
const read = (name: string) =>
  readFileSync(join(root, 'docs/operations', name), 'utf8')
    .replaceAll('/opt/indelible', opt)
    .replaceAll('/etc/indelible', etc)
    .replaceAll('/run/indelible/signing-key.pem', keyFile) // where systemd puts a copy
    .replaceAll('/var/lib/indelible', join(folder, 'var'))
    // The embedded cluster has a login and a database of these names already.
    .replaceAll('indelible_app', 'recipe_app')
    .replace('CREATE DATABASE indelible', 'CREATE DATABASE recipe')
    .replace(/postgres:\/\/(\w+:\$\w+)@127\.0\.0\.1\/indelible/g, (_, login) => urlOf(login));
const blocks = (name: string, language: string) =>
  [...read(name).matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );

const replaced = `set -euo pipefail
install() { mkdir -m 0700 "\${@: -1}"; }
runuser() { case "$2" in postgres) cat > '${join(folder, 'roles.sql')}';; *) shift 3; "$@";; esac; }
useradd() { :; }
npm() { :; }
cp() { :; }
systemctl() { :; }
`;
const env = { PATH: process.env.PATH, HOME: folder };
const bash = (script: string) =>
  run('bash', ['-c', replaced + script], { cwd: opt, env, timeout: 150_000 });

/** Runs what step 4 gives to psql. */
async function makeLogins(): Promise<void> {
  const superuser = new pg.Client({ connectionString: postgres.ownerUrl });
  superuser.on('error', () => {}); // a failed test leaves it open when the cluster stops
  await superuser.connect();
  const sql = readFileSync(join(folder, 'roles.sql'), 'utf8');
  for (const statement of sql.split('\n').filter(Boolean)) await superuser.query(statement);
  await superuser.end();
}

const unit = (name: string) =>
  readFileSync(join(root, 'deploy/systemd', name), 'utf8').replaceAll('/opt/indelible', opt);
const execOf = (name: string) => /^ExecStart=(.*)$/m.exec(unit(name))?.[1] ?? '';

const load = `set -a; . ${etc}/environment; `;

/** Starts the service as its unit does; returns its address. */
async function startUnit(): Promise<string> {
  const exec = `${load} export PORT=0; exec ${execOf('indelible.service')} --json`;
  service = spawn('bash', ['-c', exec], { cwd: opt, env, stdio: ['ignore', 'pipe', 'ignore'] });
  if (service.stdout === null) throw new Error('the service has no standard output');
  const [line] = await once(createInterface({ input: service.stdout }), 'line');
  return JSON.parse(line).url;
}

async function stopUnit(): Promise<void> {
  if (service?.kill() && service.exitCode === null) await once(service, 'exit');
}

test('the ten commands for a server end in a service that the doctor finds sound', async () => {
  const commands = blocks('server.md', 'sh');
  expect(commands).toHaveLength(12);
  const [check = ''] = commands.splice(10); // the last ones make several processes
  const migrate = commands.findIndex((command) => command.includes('indelible migrate'));
  await bash(commands.slice(0, migrate).join(''));
  await makeLogins();
  const { stdout } = await bash(commands.slice(migrate).join(''));
  const [program = ''] = commands[migrate]?.split('indelible migrate') ?? [];
  expect(stdout).toMatch(/^applied 0001-/m);

  const url = await startUnit();
  const sound = await bash(program + check.replace('http://127.0.0.1:3000', url));
  expect(sound.stdout).not.toMatch(/^(fail|warn)/m);
  expect(sound.stdout).toMatch(/^ok +service: /m);
  // The guide to a rotation: afterwards the logs are signed with the new key.
  const [rotation = ''] = blocks('signing-key.md', 'sh');
  const [rotate = '', doctor = ''] = rotation.split(/(?=^indelible doctor)/m);
  await bash(rotate);
  await stopUnit();
  const rotated = await startUnit();
  const again = await bash(program + doctor.replace('http://127.0.0.1:3000', rotated));
  expect(again.stdout).not.toMatch(/^(fail|warn)/m);
  const answer = await fetch(`${rotated}/.well-known/indelible-log.json`);
  const { keys } = (await answer.json()) as { keys: { notAfter: string | null }[] };
  const isInUse = keys.map(({ notAfter }) => notAfter === null);
  expect(isInUse.toSorted()).toEqual([false, true]);

  const job = execOf('indelible-owner@.service').replace('%i', 'retention').replace('%S', folder);
  const retention = await bash(`${load} . ${etc}/owner; ${job}`);
  expect(retention.stdout).not.toBe('');
});
