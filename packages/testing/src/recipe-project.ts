import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildClient } from '../../client/build.ts';

const root = join(import.meta.dirname, '../../..');
const recipes = join(root, 'docs/recipes');
/** Below the checkout, so that frameworks are found; it contains the installed client. */
export const project = join(root, '.cache', `framework-recipes-${process.pid}`);

/** Recipes with TypeScript in named files. */
const compiledRecipes = [
  ...['express', 'fastify', 'hono', 'nestjs', 'nextjs'],
  ...['impersonation', 'testing', 'migrate-from-audit-table'],
];

interface Block {
  language: string;
  code: string;
}

/** The code blocks of a recipe, in order. */
export function blocksOf(recipe: string): Block[] {
  const text = readFileSync(join(recipes, `${recipe}.md`), 'utf8');
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', code = '']) => {
    return { language, code };
  });
}

/**
 * The files of a recipe: the first line of a block names its file; blocks of one file are joined.
 */
function filesOf(recipe: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const { language, code } of blocksOf(recipe)) {
    const name = /^(?:\/\/|--) (\S+\.\w+)\n/.exec(code)?.[1];
    if (name !== undefined) files.set(name, `${files.get(name) ?? ''}${code}`);
    else if (language === 'ts') throw new Error(`${recipe}: a block does not say what file it is`);
  }
  return files;
}

/** The modules that a reader must supply. */
const ownModules = {
  'session.ts': `
    export interface User { id: string; email: string; role: string; tenantId: string }
    export const ana: User = {
      id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', email: 'ana@example.com', role: 'admin',
      tenantId: '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24',
    };
    export const tokenOf = (user: object): string => JSON.stringify(user);
    export async function userOf(token: string | null | undefined): Promise<User | null> {
      return token ? JSON.parse(token) : null;
    }
    export async function signIn(email: string, password: string): Promise<User | null> {
      return password === 'right' ? JSON.parse(email) : null;
    }
    export function sessionOf(token: string | undefined): { user: User } | undefined { return token ? JSON.parse(token) : undefined; }
  `,
  'queues.ts': `
    export interface Queue { id: string; name: string; maxWaitSeconds: number; [member: string]: unknown }
    const of = (id: string): Queue => ({ id, name: 'Sales', maxWaitSeconds: 30 });
    export const queues = {
      find: async (id: string): Promise<Queue> => of(id),
      update: async (id: string, changes: Record<string, unknown>): Promise<Queue> => ({ ...of(id), ...changes }),
      delete: async (id: string): Promise<Queue> => of(id),
    };
  `,
};

// Next.js is not installed: a stand-in for its one function, which tests control.
const nextFiles = {
  'node_modules/next/package.json':
    '{"name":"next","type":"module","exports":{"./headers":"./headers.js"}}',
  'node_modules/next/headers.d.ts': 'export declare function headers(): Promise<Headers>;',
  'node_modules/next/headers.js': 'export const headers = async () => globalThis.nextHeaders;',
};

/** Next.js resolves imports without an ending and none that ends in .js; Node the reverse. */
function asNode(recipe: string, file: string, code: string): string {
  if (recipe !== 'nextjs' || Object.hasOwn(ownModules, file)) return code;
  if (/from '\.[^']*\.js'/.test(code)) throw new Error(`${file}: Next.js does not find .js`);
  return code.replace(/(from '\.[^']*)'/g, "$1.js'");
}

/** Where a compiled file of a recipe is. */
export const compiled = (recipe: string, name: string) => join(project, 'out', recipe, name);

/**
 * Writes the code of all recipes into a project with the built packages, compiles it strictly, and
 * returns the compiler's output: '' if there are no errors.
 */
export function compileRecipes(): string {
  const installed = (name: string) => join(project, 'node_modules/@indelible', name);
  buildClient({ protocol: installed('protocol'), client: installed('client') });
  for (const recipe of compiledRecipes) {
    const all = [...Object.entries(ownModules), ...filesOf(recipe)];
    for (const [name, code] of all) write(join(project, recipe, name), asNode(recipe, name, code));
  }
  for (const [name, code] of Object.entries(nextFiles)) write(join(project, name), code);
  write(join(project, 'package.json'), '{"type":"module"}');
  write(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['*/**/*.ts'], exclude: ['node_modules'] }),
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [tsc, '-p', project], { encoding: 'utf8' }).stdout;
}

const compilerOptions = {
  target: 'es2022',
  module: 'nodenext',
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  skipLibCheck: true,
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
  rootDir: '.',
  outDir: 'out',
};

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

export function removeRecipes(): void {
  rmSync(project, { recursive: true, force: true });
}
