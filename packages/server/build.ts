/**
 * Writes the folder that a production host installs with `npm ci`: the service and its command with
 * the built panel, and a lock file of their dependencies, without compiler and tests. Run as a
 * program it writes `dist/server`, or the given folder; `--parquet` adds DuckDB for the archive.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const root = resolve(import.meta.dirname, '../..');
const workspaces = ['protocol', 'client', 'cli', 'server'].map((name) => `packages/${name}`);
const folders = [
  ...workspaces.map((workspace) => `${workspace}/src`),
  ...['packages/server/migrations', 'packages/panel/dist', 'locales'],
  ...['deploy/systemd', 'deploy/proxies'],
];
const testOnly = /\.test\.ts$|packages\/(cli|server)\/src\/testing$/;
const parquet = '@duckdb/node-api';

interface Manifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  workspaces?: string[];
  scripts?: Record<string, string>;
}

interface LockFile {
  packages: Record<string, Manifest & { dev?: boolean; link?: boolean; resolved?: string }>;
}

/** Writes into `target` and replaces its content. The panel must be built. */
export function buildServer(target: string, { withParquet = false } = {}): void {
  rmSync(target, { recursive: true, force: true });
  for (const part of [...folders, 'LICENSE']) {
    const filter = (path: string) => !testOnly.test(path);
    cpSync(join(root, part), join(target, part), { recursive: true, filter });
  }
  for (const workspace of workspaces) {
    writeJson(join(target, workspace, 'package.json'), production(manifestOf(workspace)));
  }
  const manifest = rootManifest(withParquet);
  writeJson(join(target, 'package.json'), manifest);
  writeJson(join(target, 'package-lock.json'), productionLock(manifest, withParquet));
}

function manifestOf(folder: string): Manifest {
  return readJson(join(folder, 'package.json')) as Manifest;
}

function production({ devDependencies: _, ...manifest }: Manifest): Manifest {
  return manifest;
}

function rootManifest(withParquet: boolean): Manifest {
  const manifest = production(manifestOf('.'));
  const added = withParquet ? { [parquet]: parquetVersion() } : {};
  const dependencies = { ...manifest.dependencies, ...added };
  return { ...manifest, workspaces, scripts: { start: 'indelible serve' }, dependencies };
}

function parquetVersion(): string {
  const version = manifestOf('packages/server').devDependencies?.[parquet];
  if (version === undefined) throw new Error(`packages/server names no ${parquet}`);
  return version;
}

/** The entries of our lock file that a production host needs, unchanged. */
function productionLock({ dependencies = {} }: Manifest, withParquet: boolean): LockFile {
  const lock = readJson('package-lock.json') as LockFile;
  const packages: LockFile['packages'] = {};
  for (const [path, { dev = false, ...entry }] of Object.entries(lock.packages)) {
    const workspace = entry.link ? entry.resolved : /^(packages|examples)\/[^/]+$/.exec(path)?.[0];
    const isElsewhere = workspace !== undefined && !workspaces.includes(workspace);
    const isParquet = withParquet && /^node_modules\/(@duckdb\/|detect-libc$)/.test(path);
    if (isElsewhere || (dev && !isParquet)) continue;
    packages[path] = production(entry);
    // `npm ci` refuses a lock file that lacks DuckDB for a platform that its package names.
    if (isParquet) packages[path].optionalDependencies = presentIn(lock, entry);
  }
  packages[''] = { ...packages[''], workspaces, dependencies };
  return { ...lock, packages };
}

function presentIn({ packages }: LockFile, { optionalDependencies = {} }: Manifest) {
  const named = Object.entries(optionalDependencies);
  return Object.fromEntries(named.filter(([name]) => `node_modules/${name}` in packages));
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { parquet: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const target = resolve(positionals[0] ?? join(root, 'dist/server'));
  buildServer(target, { withParquet: values.parquet });
  console.log(`built ${target}; on the host: npm ci && npm start`);
}
