import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

/* The house rules that a machine can check; CONTRIBUTING.md says them in words. */

const root = import.meta.dirname;
const left = new Set(['node_modules', 'data', 'dist', '.git', '.cache', 'coverage']);

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (left.has(entry.name)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [relative(root, path)];
  });
}

const files = filesBelow(root);
const code = files.filter((file) => /\.tsx?$/.test(file));
const text = (file: string) => readFileSync(join(root, file), 'utf8');
const isTest = (file: string) => /\.test\.tsx?$/.test(file) || file.includes('/testing/');

/** Relative and workspace imports of a file, as written. */
function importsOf(file: string): string[] {
  const found = text(file).matchAll(
    /^(?:import|export)\b[^;]*?\bfrom '([^']+)'|\bimport\('([^']+)'\)/gm,
  );
  return [...found].map(([, source, lazy]) => source ?? lazy ?? '');
}

function packageOf(file: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(file)?.[1];
}

/** Files that are a table of many fields: they may be as long as tests. */
const tables = ['packages/protocol/src/event/event-fields.ts'];

test('no file grows beyond 400 lines, no test or table beyond 600', () => {
  const linesMax = (file: string) => (isTest(file) || tables.includes(file) ? 600 : 400);
  const long = code.filter((file) => text(file).split('\n').length - 1 > linesMax(file));
  expect(long).toEqual([]);
});

test('no function grows beyond 70 lines', () => {
  expect(code.filter((file) => !isTest(file)).flatMap(longFunctions)).toEqual([]);
});

// The formatter puts a function's closing brace under its first line, so indentation finds its end.
function longFunctions(file: string): string[] {
  const lines = text(file).split('\n');
  const starts =
    /^(\s*)(export )?(default )?(async )?(function\b|(static |async |get |#)*[\w#]+\([^)]*\).*\{$|const \w+ = (async )?\(.*=> \{$)/;
  return lines.flatMap((line, at) => {
    const start = starts.exec(line);
    if (!start || /^\s*(if|for|while|switch|catch|test|describe)\b/.test(line)) return [];
    const end = lines.findIndex((other, index) => index > at && other.startsWith(`${start[1]}}`));
    return end - at > 70 ? [`${file}:${at + 1}`] : [];
  });
}

test('no spread of an object literal hides the members of an object', () => {
  expect(code.filter((file) => /\.{3}\{/.test(text(file)))).toEqual([]);
});

// The formatter breaks code at 100 columns, and leaves comments as they are.
test('comments keep to 100 columns', () => {
  const wide = code.flatMap((file) =>
    text(file)
      .split('\n')
      .filter((line) => line.length > 100 && /^\s*(\/\/|\/?\*)(?! biome-ignore)/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(wide).toEqual([]);
});

test('files are kebab-case, components PascalCase, and none is a grab bag', () => {
  const name = (file: string) => basename(file).replace(/\.[a-z.]+$/, '');
  const odd = code.filter(
    (file) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*$/.test(name(file)) && !file.endsWith('.tsx'),
  );
  expect(odd).toEqual([]);
  const bags = code.filter(
    (file) =>
      /^(utils?|helpers?|managers?|services?|common|lib)$/.test(name(file)) && !isTest(file),
  );
  expect(bags).toEqual([]);
});

const mayImport: Record<string, string[]> = {
  protocol: [],
  client: ['protocol'],
  cli: ['client', 'protocol', 'server'], // server: its commands, when one of them runs
  panel: ['client', 'protocol'],
  server: ['protocol'],
};

test('packages import only what stands below them', () => {
  const wrong = code
    .filter((file) => !isTest(file))
    .flatMap((file) => {
      const own = packageOf(file);
      if (!own) return [];
      return importsOf(file)
        .filter((source) => source.startsWith('@indelible/'))
        .filter((source) => !mayImport[own]?.includes(source.split('/')[1] ?? ''))
        .map((source) => `${file} imports ${source}`);
    });
  expect(wrong).toEqual([]);
});

test('protocol runs anywhere: no Node modules, no clock, no randomness', () => {
  const pure = code.filter((file) => file.startsWith('packages/protocol/src') && !isTest(file));
  expect(pure.length).toBeGreaterThan(5);
  expect(
    pure.filter((file) =>
      importsOf(file).some((source) => !/^(\.\.?\/|@noble\/hashes\/)/.test(source)),
    ),
  ).toEqual([]);
  expect(
    pure.filter((file) =>
      /\bDate\.now\(|\bnew Date\(\)|Math\.random|\bprocess\.|\bBuffer\./.test(text(file)),
    ),
  ).toEqual([]);
});

/** The folders of the server, each of which knows those above it and no others. */
const rooms = [
  ...['postgres', 'crypto', 'objects', 'outbound', 'background', 'http', 'access'],
  ...['tenants', 'api-keys', 'sessions', 'log', 'sources', 'words', 'events'],
  ...['record', 'list', 'stats', 'searches'],
  ...['restores', 'exports', 'retention', 'archive', 'erasure', 'webhooks', 'alerts', 'digests'],
  'operations',
];
const roomOf = (file: string) => /^packages\/server\/src\/([^/]+)\//.exec(file)?.[1];

test('folders of the server import one another one way', () => {
  const own = code.filter((file) => !isTest(file) && rooms.includes(roomOf(file) ?? ''));
  const wrong = own.flatMap((file) => {
    const room = roomOf(file) ?? '';
    return edgesOf(file).flatMap((target) => {
      const other = roomOf(target);
      if (other === undefined || other === room) return [];
      const isUp = rooms.indexOf(other) > rooms.indexOf(room) || !rooms.includes(other);
      return isUp ? [`${file} imports ${target}`] : [];
    });
  });
  expect(wrong).toEqual([]);
  expect(own.filter((file) => basename(file) === 'index.ts')).toEqual([]);
  const loose = code.filter((file) => /^packages\/server\/src\/[^/]+$/.test(file));
  expect(loose.filter((file) => !isTest(file)).length).toBeLessThanOrEqual(10);
});

/** What a file imports of the repository itself. */
function edgesOf(file: string): string[] {
  const own = importsOf(file).filter((source) => source.startsWith('.'));
  return own.map((source) => join(dirname(file), source));
}

test('no file imports itself by way of others, not even its types', () => {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
    if (done.has(file) || path.includes(file) || !code.includes(file)) return;
    for (const next of edgesOf(file)) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of code) visit(file, []);
  expect(circles).toEqual([]);
});

test('the list of events imports at most twenty files, with types', () => {
  const found = new Set<string>();
  const visit = (file: string) => {
    for (const next of edgesOf(file)) if (!found.has(next)) visit(next);
    found.add(file);
  };
  const list = 'packages/server/src/list/list.store.ts';
  visit(list);
  expect([...found].filter((file) => file !== list).length).toBeLessThanOrEqual(20);
  expect(found.size).toBeGreaterThan(1);
});

test('SQL stands in stores, migrations and the few files that run the database', () => {
  const allowed = /(^|[./])store\.ts$|\/server\/src\/postgres\/|^(bench|nemesis)\//;
  const sql = /['"`]\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\s/;
  expect(
    code.filter((file) => !isTest(file) && !allowed.test(file) && sql.test(text(file))),
  ).toEqual([]);
});

test('the environment is read in one place', () => {
  const readers = code.filter(
    (file) =>
      !isTest(file) && file.startsWith('packages/server') && /process\.env/.test(text(file)),
  );
  expect(readers).toEqual([]);
});

test('at most 38 variables configure the service', () => {
  const named = text('packages/server/src/config.ts').matchAll(/\bread\.\w+\(\s*'([A-Z_]+)'/g);
  expect(new Set([...named].map(([, name]) => name)).size).toBeLessThanOrEqual(38);
});

test('nothing is left for later without an issue, and no check is switched off', () => {
  const own = 'tidy.test.ts';
  const left = code.filter(
    (file) =>
      file !== own &&
      /\b(TODO|FIXME|HACK|XXX)\b|@ts-(ignore|nocheck|expect-error)/.test(text(file)),
  );
  expect(left).toEqual([]);
  const skipped = code.filter(
    (file) =>
      file !== own && /\b(test|it|describe)\.(skip|only|todo|skipIf|runIf)\b/.test(text(file)),
  );
  expect(skipped).toEqual([]);
});

test('every source file is used by another, started by a command, or a test', () => {
  const used = new Set(
    code.flatMap((file) =>
      importsOf(file)
        .filter((source) => source.startsWith('.'))
        .map((source) => join(dirname(file), source)),
    ),
  );
  const named = [
    ...files.filter((file) => basename(file) === 'package.json'),
    'vitest.config.ts',
    'biome.json',
    ...code.filter((file) => file.startsWith('e2e/')), // what a browser loads is named, not imported
  ]
    .map((file) => text(file).replaceAll('"./', `"${dirname(file)}/`)) // entry points of a package
    .join();
  const dead = code.filter((file) => {
    if (isTest(file) || used.has(file) || /vite(st)?\.config\.ts$/.test(file)) return false;
    return (
      !/\/src\/(index|main|capsule\/main)\.tsx?$/.test(file) &&
      !named.includes(file.replace(/^e2e\//, '')) &&
      !text(file).startsWith('#!') &&
      !/^bench\//.test(file)
    );
  });
  expect(dead).toEqual([]);
});

test('the server keeps to 25 runtime dependencies, the client and the protocol to 1', () => {
  const count = (name: string) =>
    Object.keys(JSON.parse(text(`packages/${name}/package.json`)).dependencies ?? {}).filter(
      (dependency) => !dependency.startsWith('@indelible/'),
    ).length;
  expect(count('server')).toBeLessThanOrEqual(25);
  expect(count('client')).toBeLessThanOrEqual(1);
  expect(count('protocol')).toBeLessThanOrEqual(1);
});

test('the lock file names no download addresses', () => {
  expect(text('package-lock.json')).not.toMatch(/"resolved": "http/);
});

test('migrations have numbers without gaps, each once', () => {
  const numbers = readdirSync(join(root, 'packages/server/migrations')).map((file) =>
    Number(file.slice(0, 4)),
  );
  expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers.map((_, at) => at + 1));
});
