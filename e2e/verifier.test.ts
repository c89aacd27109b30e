import { join } from 'node:path';
import { build, type Rolldown } from 'vite';
import { expect, test } from 'vitest';
import { eventOf, testService } from '../packages/server/src/testing/service.ts';
import { sharedChromium } from './chromium.ts';
import { openSite } from './site.ts';

/*
 * The verifier of the command line, in a browser: the same source, bundled, with no Node in sight.
 */

const service = await testService();
const script = await bundle();
const { url } = await openSite((request, response) => {
  const isScript = request.url === '/verifier.js';
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
  response.end(isScript ? script : '<!doctype html><title>Verifier</title>');
});
const page = await (await sharedChromium()).newPage();
// A loopback page is a secure context: WebCrypto, and so Ed25519, is there.
await page.goto(url);

/** The protocol package as one browser module. */
async function bundle(): Promise<string> {
  const entry = join(import.meta.dirname, 'verifier-entry.ts');
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      target: 'es2024',
      lib: { entry, formats: ['es'], fileName: 'verifier' },
    },
  });
  const [output] = [built].flat() as Rolldown.RolldownOutput[];
  const code = output?.output[0].code ?? '';
  expect(code).not.toMatch(/from\s*["']node:/);
  return code;
}

/** Runs one of the functions of verifier-entry.ts in the page. */
function inBrowser(name: 'verdict' | 'emptyRootHex', ...args: unknown[]): Promise<unknown> {
  // As text: Vitest would rewrite an import() that is code of this file.
  const call = `verifier.${name}(...${JSON.stringify(args)})`;
  return page.evaluate(`import('/verifier.js').then((verifier) => ${call})`);
}

async function provenEvent() {
  const tenant = await service.tenant();
  const event = eventOf({
    resource: { type: 'ivr', id: crypto.randomUUID(), name: 'Menü' },
    before: { greeting: 'Olá' },
    after: { greeting: 'नमस्ते' },
    diff: undefined,
  });
  const written = await service.call({
    method: 'POST',
    url: '/api/audit-logs',
    key: tenant.key,
    body: event,
  });
  await service.app.checkpoints.tick();
  const proof = await service.call({
    url: `/api/audit-logs/${written.body.id}/proof`,
    key: tenant.key,
  });
  const [origin] = proof.body.checkpoint.split('\n');
  const keys = await service.call({ url: `/.well-known/indelible-log.json?origin=${origin}` });
  return { proof: proof.text, vkeys: keys.body.keys.map((key: { vkey: string }) => key.vkey) };
}

test('a browser recomputes the leaf, the path and the signature, and says that the event is in the log', async () => {
  const { proof, vkeys } = await provenEvent();
  expect(await inBrowser('verdict', proof, vkeys)).toMatchObject({ code: 'valid' });
});

test('a browser sees that one letter of the event, one byte of the path or the key is another', async () => {
  const { proof, vkeys } = await provenEvent();
  const other = await provenEvent();
  expect(await inBrowser('verdict', proof.replace('Olá', 'Ola'), vkeys)).not.toMatchObject({
    code: 'valid',
  });
  const path = JSON.parse(proof).path[0] as string;
  const flipped = `${path[0] === '0' ? '1' : '0'}${path.slice(1)}`;
  expect(await inBrowser('verdict', proof.replace(path, flipped), vkeys)).not.toMatchObject({
    code: 'valid',
  });
  expect(await inBrowser('verdict', proof, other.vkeys)).not.toMatchObject({ code: 'valid' });
});

test('SHA-256 in the browser is SHA-256: the empty tree has the root of RFC 6962', async () => {
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
  expect(await inBrowser('emptyRootHex')).toBe(empty);
});
