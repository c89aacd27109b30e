import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { newFolder } from '@indelible/testing/folders';
import { testService } from '@indelible/testing/service';
import { EdgeRuntime } from 'edge-runtime';
import { build, type Rolldown } from 'vite';
import { expect, test } from 'vitest';
import { newSecret, signatureHeaders } from '../server/src/outbound/standard-webhooks.ts';
import {
  hostOfNewest,
  hostOfOldest,
  installedClient,
  runtimes,
} from './testing/installed-client.ts';

/*
 * The client as users get it: packed, installed into an empty folder, run on what they run it on.
 */

const run = promisify(execFile);
const folder = newFolder();
const service = await testService();
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });
const host = await installedClient(folder);

function webhook() {
  const secret = newSecret();
  const body = '{"type":"audit.webhook.test","timestamp":"","data":{}}';
  return { secret, body, headers: signatureHeaders({ id: 'msg_1', body }, [secret], Date.now()) };
}

/** What `journey.js` answers where everything works. */
const allWell = {
  again: true,
  listed: true,
  diff: true,
  after: { paid: false, token: '[masked]' },
  proof: 'valid',
  refusal: 'validation_failed',
  hasRequestId: true,
  webhook: 'audit.webhook.test',
};

test.each(runtimes())(
  '$name records, lists, proves, receives and buffers with the packages as they are published',
  async ({ program, options }) => {
    const { key } = await service.tenant();
    const args = [...options, 'main.js', url, key, JSON.stringify(webhook())];
    const env = { PATH: process.env.PATH, HOME: folder, DENO_DIR: join(folder, 'deno') };
    const { stdout } = await run(program, args, { cwd: host, env });
    expect(JSON.parse(stdout)).toEqual({ ...allWell, recorder: 1 });
  },
);

/** One script of all that this code needs, with the files that went into it. */
async function bundled(code: string): Promise<{ text: string; modules: string[] }> {
  const entry = join(host, 'entry.js');
  writeFileSync(entry, code);
  const result = await build({
    root: host,
    configFile: false,
    logLevel: 'error',
    build: { write: false, lib: { entry, formats: ['iife'], name: 'entry' }, minify: true },
  });
  const [{ output }] = [result].flat() as [Rolldown.RolldownOutput];
  return { text: output[0].code, modules: Object.keys(output[0].modules) };
}

test('an edge runtime records, lists, proves and receives too', async () => {
  const { key } = await service.tenant();
  const { text } = await bundled("export { journey } from './journey.js';");
  const runtime = new EdgeRuntime({ initialCode: text });
  const args = [url, key, webhook()].map((each) => JSON.stringify(each)).join();
  expect(JSON.parse(await runtime.evaluate(`entry.journey(${args})`))).toEqual(allWell);
});

// The names and texts that are masked, in five languages, are 3.5 KiB of the first and the last.
test.each([
  ['createClient', '@indelible/client', 14],
  ['verifyWebhook', '@indelible/client/webhooks', 3.1],
  ['diffOf', '@indelible/client', 7.2],
])(
  '%s alone costs a browser no tree, no hash and nothing of Node, and a few KiB',
  async (name, from, kibMax) => {
    const { text, modules } = await bundled(`export { ${name} } from '${from}';`);
    expect(modules.filter((each) => /merkle|sha2|event-proof|checkpoint|node:/.test(each))).toEqual(
      [],
    );
    // Optional, so that no bundler adds a replacement for `process`.
    const others = text.replace('globalThis.process?.env', '');
    expect(others).not.toMatch(/\bBuffer\b|\bprocess\b|node:|require\(/);
    expect(gzipSync(text).length / 1_024).toBeLessThan(kibMax);
  },
);

/** What the compiler says of these files in a strict host product. */
function typeErrors(cwd: string, files: string[], options: object, compiler = newest): string {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    types: ['node'],
    ...options,
    lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'],
    typeRoots: [join(import.meta.dirname, '../../node_modules/@types')],
  };
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const tsc = join(import.meta.dirname, compiler, 'bin/tsc');
  return spawnSync(process.execPath, [tsc, '--pretty', 'false'], { cwd, encoding: 'utf8' }).stdout;
}
const newest = '../../node_modules/typescript';
/** The last one that resolves modules as NestJS 10 configures it; that of typedoc. */
const typescript5 = 'node_modules/typescript';

test('a CommonJS host finds types and code of every entry point', async () => {
  const { exports } = JSON.parse(
    readFileSync(join(host, 'node_modules/@indelible/client/package.json'), 'utf8'),
  );
  const names = Object.keys(exports)
    .filter((name) => name !== './package.json')
    .map((name) => join('@indelible/client', name));
  const lines = names.map((name, at) => `import * as m${at} from '${name}';\nvoid m${at};\n`);
  writeFileSync(join(host, 'every.ts'), lines.join(''));
  const options = { module: 'commonjs', moduleResolution: 'node10', skipLibCheck: true };
  expect(typeErrors(host, ['every.ts'], options, typescript5)).toBe('');
  const code = names.map((name) => `require('${name}');`).join('');
  // Hosts that use the React component have React.
  const react = join(import.meta.dirname, '../../node_modules/react');
  symlinkSync(react, join(host, 'node_modules/react'));
  await run(process.execPath, ['--input-type=commonjs', '--eval', code], { cwd: host });
});

test('the package brings its guide, whose links lead nowhere else', () => {
  const guide = readFileSync(join(host, 'node_modules/@indelible/client/README.md'), 'utf8');
  expect(guide).toMatch(/^# @indelible\/client\n[\s\S]*createClient[\s\S]*verifyWebhook/);
  expect(guide).not.toMatch(/\]\((?!https:)/);
});

test.each([
  ['oldest', hostOfOldest],
  ['newest', hostOfNewest],
])(
  'the %s Express, Fastify, Hono and NestJS install, compile and record with the middleware',
  async (_, hostOf) => {
    const cwd = await hostOf(folder);
    // The declarations of old frameworks do not pass today's compiler.
    expect(typeErrors(cwd, ['frameworks.ts'], { module: 'nodenext', skipLibCheck: true })).toBe('');
    const { stdout } = await run(process.execPath, ['frameworks.ts'], { cwd });
    const events = JSON.parse(stdout);
    expect(events).toHaveLength(4);
    for (const { actor, action } of events) {
      const seen = { email: 'ana@example.com', ip: '203.0.113.7', userAgent: 'a browser' };
      expect([action, actor]).toMatchObject(['update', seen]);
    }
  },
);

test.each(['nodenext', 'bundler'])(
  'the published types are complete for a strict host (%s), and a misspelt word is its only error',
  (moduleResolution) => {
    const typed = readFileSync(join(host, 'typed.ts'), 'utf8');
    writeFileSync(join(host, 'wrong.ts'), typed.replace("action: 'refund'", "action: 'refnd'"));
    const module = moduleResolution === 'bundler' ? 'esnext' : moduleResolution;
    const stdout = typeErrors(host, ['typed.ts', 'wrong.ts'], { moduleResolution, module });
    expect(stdout.match(/error TS/g), stdout).toHaveLength(1);
    expect(stdout).toMatch(/^wrong\.ts.*refnd/);
  },
);
