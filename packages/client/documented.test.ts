import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newFolder } from '@indelible/testing/folders';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { newSecret, signatureHeaders } from '../server/src/outbound/standard-webhooks.ts';

/* The program of docs/client.md, as it stands there, against a real service. */

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const folder = newFolder();
const service = await testService();
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });

const guide = readFileSync(join(root, 'docs/client.md'), 'utf8');
const program = [...guide.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code).join('\n');

const secret = newSecret();
const body = '{"type":"audit.events.recorded","data":{"events":[{"action":"refund"}]}}';
const delivery = {
  method: 'POST',
  body,
  headers: signatureHeaders({ id: 'msg_1', body }, [secret], Date.now()),
};
const send = (init: object) =>
  `(await receive(new Request('https://x.example', ${JSON.stringify(init)}))).status`;
const calls = [send(delivery), send({ ...delivery, body: '{}' })];

mkdirSync(join(folder, 'node_modules/@indelible'), { recursive: true });
for (const name of ['client', 'protocol']) {
  symlinkSync(join(root, 'packages', name), join(folder, 'node_modules/@indelible', name));
}
writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
writeFileSync(join(folder, 'guide.ts'), `${program}\nconsole.log(${calls.join(', ')});\n`);

test('the program of the guide prints what the guide says it prints', async () => {
  const { key } = await service.tenant();
  const env = { PATH: process.env.PATH, INDELIBLE_URL: url, INDELIBLE_API_KEY: key };
  const { stdout } = await run(process.execPath, ['guide.ts'], {
    cwd: folder,
    env: { ...env, WEBHOOK_SECRETS: `${newSecret()},${secret}` },
  });
  const said = [...program.matchAll(/\/\/ → (.+)$/gm)].map(([, text]) => text);
  expect(said.length).toBeGreaterThan(10);
  expect(stdout.trim().split('\n')).toEqual([...said, '204 401']);
});

test('the program of the guide is one that a strict compiler takes', () => {
  const compilerOptions = { types: ['node'], typeRoots: [join(root, 'node_modules/@types')] };
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, files: ['guide.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...config, include: [] }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc], { cwd: folder, encoding: 'utf8' });
  expect(stdout).toBe('');
});
