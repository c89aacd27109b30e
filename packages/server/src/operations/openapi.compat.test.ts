import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newFolder } from '@indelible/testing/folders';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import type { Seen } from '../../testing/openapi/event.ts';

/*
 * The OpenAPI document as others read it: linters with their own rules, and generators, whose code
 * compiles and calls the service.
 */

const run = promisify(execFile);
const tools = join(import.meta.dirname, '../../testing/openapi');
const typescript = join(import.meta.dirname, '../../../../node_modules/typescript/bin/tsc');
const folder = newFolder();
const installed = (path: string) => join(tools, 'node_modules', path);

const service = await testService();
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });
cpSync(tools, folder, { recursive: true, filter: (path) => !path.includes('node_modules') });
symlinkSync(installed(''), join(folder, 'node_modules'));
mkdirSync(join(folder, 'generated'));
const { body: document } = await service.call({ url: '/openapi.json', key: null });
writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));

/** What a program says, also if it fails: the problems that it finds. */
const said = async (program: string, ...args: string[]): Promise<string> => {
  const ended = run(process.execPath, [program, ...args], { cwd: folder });
  return (await ended.catch((failed: { stdout: string }) => failed)).stdout;
};

test('the address of the service is in its document', () => {
  expect(document.servers).toEqual([{ url }]);
});

test("Redocly's and Spectral's default rules find neither error nor warning", async () => {
  const [redocly, spectral] = await Promise.all([
    said(installed('@redocly/cli/bin/cli.js'), 'lint', '--format=json', 'openapi.json'),
    said(
      installed('@stoplight/spectral-cli/dist/index.js'),
      ...['lint', '--ruleset=spectral.yaml', '--format=json', '--quiet'],
      'openapi.json',
    ),
  ]);
  expect(JSON.parse(redocly).problems).toEqual([]);
  expect(JSON.parse(spectral)).toEqual([]);
});

test('clients of three generators compile, record an event and read it back', async () => {
  await Promise.all([
    said(
      installed('openapi-typescript/bin/cli.js'),
      ...['openapi.json', '--output', 'generated/openapi-fetch.ts'],
    ),
    said(
      installed('@hey-api/openapi-ts/bin/run.js'),
      ...['--input', 'openapi.json', '--output', 'generated/hey-api', '--no-log-file'],
    ),
    said(installed('oazapfts/dist/cli.js'), 'openapi.json', 'generated/oazapfts.ts'),
  ]);
  expect(await said(typescript, '--project', folder)).toBe('');
  for (const name of ['openapi-fetch', 'hey-api', 'oazapfts']) {
    const { key } = await service.tenant();
    const { journey } = await import(join(folder, `${name}.ts`));
    const seen: Seen = await journey(key, url);
    expect(seen, name).toEqual({
      recorded: expect.stringMatching(/^evt_audit_/),
      sequence: expect.any(Number),
      read: 'ana@example.com',
      listed: [seen.recorded],
      refused: 'not_found',
    });
  }
});
