/**
 * Builds the two packages that host products install, `@indelible/protocol` and
 * `@indelible/client`: ES2022 JavaScript and declarations, ready to publish. Run as a program, it
 * writes `packages/protocol/dist` and `packages/client/dist`.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

interface Manifest {
  name: string;
  version: string;
  license: string;
  exports: string | Record<string, string>;
  dependencies?: Record<string, string>;
}

interface Built {
  /** Folder of the source package. */
  source: string;
  /** Folder of the built package; its content is replaced. */
  target: string;
  description: string;
  /** Default: name and description. */
  readme?: string;
  /** Members of the published package.json that the source package does not have. */
  manifest?: Record<string, unknown>;
  /** Module names that the compiler does not find in `node_modules`. */
  paths?: Record<string, string[]>;
}

const root = resolve(import.meta.dirname, '../..');

/** Frameworks of the entry points; a host product installs only those that it uses. */
const peers = {
  fastify: '>=4',
  express: '>=4',
  hono: '>=4',
  '@nestjs/common': '>=10',
  react: '>=18',
};

/**
 * Builds both packages into these folders. Throws with the compiler's messages if there are errors.
 */
export function buildClient(targets: { protocol: string; client: string }): void {
  buildPackage({
    source: join(root, 'packages/protocol'),
    target: targets.protocol,
    description: 'Formats and rules of the Indelible audit log: events, log, proofs.',
  });
  const { version } = manifestOf(join(root, 'packages/protocol'));
  buildPackage({
    source: join(root, 'packages/client'),
    target: targets.client,
    description: 'Client of the Indelible audit log: records, reads and proves events.',
    readme: guide(),
    manifest: {
      dependencies: { '@indelible/protocol': version },
      peerDependencies: peers,
      peerDependenciesMeta: Object.fromEntries(
        Object.keys(peers).map((name) => [name, { optional: true }]),
      ),
    },
    paths: { '@indelible/protocol': [join(targets.protocol, 'index.d.ts')] },
  });
}

/** The guide, without links to pages that the package does not have. */
function guide(): string {
  const text = readFileSync(join(root, 'docs/client.md'), 'utf8');
  const where = 'The other pages that it names are in the folder `docs` of the service.';
  return text
    .replace('# The client\n', `# @indelible/client\n\n${where}\n`)
    .replace(/\[([^\]]+)\]\((?!https?:)[^)]+\)/g, '$1');
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

function buildPackage({ source, target, description, readme, ...more }: Built): void {
  const { manifest = {}, paths = {} } = more;
  const { name, version, license, exports, dependencies } = manifestOf(source);
  const entries = typeof exports === 'string' ? { '.': exports } : exports;
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const files = Object.values(entries).map((entry) => join(source, entry));
  compile(target, { rootDir: join(source, 'src'), outDir: target, paths }, files);
  nameJavaScript(target);
  const publishedEntries = publishedExports(entries);
  const published = {
    name,
    version,
    description,
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20.15' },
    exports: { ...publishedEntries, './package.json': './package.json' },
    typesVersions: { '*': typePaths(publishedEntries) },
    ...(dependencies === undefined ? {} : { dependencies }),
    ...manifest,
  };
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
  writeFileSync(join(target, 'README.md'), readme ?? `# ${name}\n\n${description}\n`);
  copyFileSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
}

type Exports = Record<string, { types: string; default: string }>;

function publishedExports(entries: Record<string, string>): Exports {
  const published = Object.entries(entries).map(([name, entry]) => {
    const path = entry.replace('./src/', './').replace(/\.ts$/, '');
    return [name, { types: `${path}.d.ts`, default: `${path}.js` }];
  });
  return Object.fromEntries(published);
}

/** For compilers that do not read `exports`, as NestJS 10 configures TypeScript. */
function typePaths(exports: Exports) {
  return Object.fromEntries(
    Object.entries(exports).map(([name, { types }]) => [name.replace('./', ''), [types]]),
  );
}

function compile(folder: string, options: Record<string, unknown>, files: string[]): void {
  const project = join(folder, 'tsconfig.json');
  const compilerOptions = {
    target: 'es2022',
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    // The library of Node 20, so that newer functions fail here and not in a host product.
    lib: ['es2023', 'es2024.string', 'dom', 'dom.iterable', 'dom.asynciterable'],
    typeRoots: [join(root, 'node_modules/@types')],
    ...options,
  };
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, files, include: [] };
  writeFileSync(project, JSON.stringify(config));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', project], {
    encoding: 'utf8',
  });
  rmSync(project);
  if (status !== 0) throw new Error(`the compiler refuses:\n${stdout}`);
}

/** Declarations still name `.ts` files; the compiler rewrites these names only in JavaScript. */
function nameJavaScript(folder: string): void {
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.d.ts')) continue;
    const file = join(folder, path);
    const text = readFileSync(file, 'utf8');
    writeFileSync(
      file,
      text.replace(/((?:from |import\()["']\.{1,2}\/[^"']+)\.ts(["'])/g, '$1.js$2'),
    );
  }
}

if (import.meta.main) {
  const dist = (name: string) => join(root, 'packages', name, 'dist');
  buildClient({ protocol: dist('protocol'), client: dist('client') });
  console.log('built packages/protocol/dist and packages/client/dist');
}
