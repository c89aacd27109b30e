/**
 * Writes the folder that a production host installs with `npm ci`: the service and its command as
 * plain JavaScript with the built panel, and a lock file of their dependencies, without compiler
 * and tests. Run as a program it writes `dist/server`, or the given folder.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'vite';

const root = resolve(import.meta.dirname, '../..');
const workspaces = ['protocol', 'client', 'cli', 'server'].map((name) => `packages/${name}`);
/** The only package that a host installs; its code finds migrations and panel from `dist/esm`. */
const installed = 'packages/server';
const folders = [
  ...['packages/server/migrations', 'packages/panel/dist'],
  ...['deploy/systemd', 'deploy/proxies', 'LICENSE', '.npmrc'],
];
const programs = [
  'packages/cli/src/main.ts',
  'packages/server/src/archive/draft-part.thread.ts',
  'packages/server/src/exports/file/make-files.thread.ts',
];

interface Manifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  workspaces?: string[];
  scripts?: Record<string, string>;
  bin?: Record<string, string>;
  exports?: unknown;
}

interface LockFile {
  packages: Record<string, Manifest & { dev?: boolean; link?: boolean; resolved?: string }>;
}

/** Writes into `target` and replaces its content. The panel must be built. */
export async function buildServer(target: string): Promise<void> {
  rmSync(target, { recursive: true, force: true });
  const filter = (path: string) => !path.endsWith('.test.ts');
  for (const part of folders) {
    cpSync(join(root, part), join(target, part), { recursive: true, filter });
  }
  await bundle(join(target, installed, 'dist/esm'));
  const host = hostManifest();
  writeJson(join(target, installed, 'package.json'), host);
  const manifest = rootManifest();
  writeJson(join(target, 'package.json'), manifest);
  writeJson(join(target, 'package-lock.json'), productionLock(manifest, host));
}

/**
 * A start finds a few files instead of seven hundred, and no types to remove. Packages of others
 * stay as npm installs them.
 */
async function bundle(outDir: string): Promise<void> {
  const input = programs.map((program) => join(root, program));
  const output = {
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: false,
    // A character beyond Latin-1 would make V8 keep a file's text in twice its bytes.
    minify: {
      compress: false,
      mangle: false,
      codegen: { removeWhitespace: false, asciiOnly: true },
    },
  };
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    ssr: { external: true, noExternal: /^@indelible\// },
    build: {
      ssr: true,
      target: 'node24',
      outDir,
      emptyOutDir: true,
      rolldownOptions: { input, output },
    },
  });
}

function manifestOf(folder: string): Manifest {
  return readJson(join(folder, 'package.json')) as Manifest;
}

function production({ devDependencies: _, ...manifest }: Manifest): Manifest {
  return manifest;
}

/** What all that is bundled depends on. */
function hostManifest(): Manifest {
  const manifests = workspaces.map(manifestOf);
  const dependencies = Object.assign({}, ...manifests.map((manifest) => manifest.dependencies));
  const bin = { indelible: './dist/esm/main.js' };
  return { ...production(manifestOf(installed)), exports: undefined, bin, dependencies };
}

function rootManifest(): Manifest {
  const scripts = { start: 'indelible serve' };
  return { ...production(manifestOf('.')), workspaces: [installed], scripts };
}

/** The entries of our lock file that a production host needs, unchanged. */
function productionLock(manifest: Manifest, host: Manifest): LockFile {
  const lock = readJson('package-lock.json') as LockFile;
  const packages: LockFile['packages'] = {};
  for (const [path, { dev = false, ...entry }] of Object.entries(lock.packages)) {
    const workspace = entry.link ? entry.resolved : /^(packages|examples)\/[^/]+$/.exec(path)?.[0];
    const isElsewhere = workspace !== undefined && workspace !== installed;
    if (isElsewhere || dev) continue;
    packages[path] = production(entry);
  }
  const { workspaces = [], dependencies = {} } = manifest;
  packages[''] = { ...packages[''], workspaces, dependencies };
  const { bin = {}, dependencies: bundled = {} } = host;
  packages[installed] = { ...packages[installed], bin, dependencies: bundled };
  return { ...lock, packages };
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

if (import.meta.main) {
  const target = resolve(process.argv[2] ?? join(root, 'dist/server'));
  await buildServer(target);
  console.log(`built ${target}; on the host: npm ci && npm start`);
}
