import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';
import { openSigner } from '../../../server/src/crypto/signer.ts';
import { runCli } from '../testing/run-cli.ts';

const folder = newFolder();

test('a key is made for its owner alone, and the service can sign with it', async () => {
  const file = join(folder, 'signing-key.pem');
  const { status, stdout } = await runCli(['keygen', file, '--json']);
  expect(status).toBe(0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const pem = readFileSync(file, 'utf8');
  expect(pem).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  const spki = createPublicKey(createPrivateKey(pem)).export({ type: 'spki', format: 'der' });
  const publicKey = spki.subarray(-32).toString('base64');
  expect(JSON.parse(stdout)).toEqual({ file, publicKey });
  expect(await openSigner(file, false).publicKey()).toEqual(new Uint8Array(spki.subarray(-32)));
});

test('a key that exists is never written over', async () => {
  const file = join(folder, 'kept.pem');
  const made = await runCli(['keygen', file]);
  expect(made.stdout).toMatch(/kept\.pem is made.*\npublic key \(Ed25519\): [A-Za-z0-9+/]{43}=\n$/);
  const before = readFileSync(file, 'utf8');
  const again = await runCli(['keygen', file]);
  expect([again.status, again.stderr]).toEqual([
    2,
    expect.stringContaining('kept.pem exists already; name another file'),
  ]);
  expect(readFileSync(file, 'utf8')).toBe(before);
  const nowhere = await runCli(['keygen', join(folder, 'no', 'where.pem')]);
  expect([nowhere.status, nowhere.stderr]).toEqual([
    2,
    expect.stringContaining('no is not a writable folder; make it'),
  ]);
});
