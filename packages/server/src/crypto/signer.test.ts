import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';
import { newSigningKey, openSigner } from './signer.ts';

const scratch = newFolder();

function keyFile(name: string, text: string, mode = 0o600): string {
  const path = join(scratch, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

test('a signature is verified by the public key alone', async () => {
  const signer = openSigner(keyFile('own.pem', newSigningKey()), false);
  const publicKey = await signer.publicKey();
  expect(publicKey).toHaveLength(32);
  const x = Buffer.from(publicKey).toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const message = Buffer.from('origin\n7\nroot\n');
  const signature = await signer.sign(message);
  expect(signature).toHaveLength(64);
  expect(verify(null, message, key, signature)).toBe(true);
  expect(verify(null, Buffer.from('origin\n8\nroot\n'), key, signature)).toBe(false);
});

test('a key is made once, for its owner alone, and found again', async () => {
  const path = join(scratch, 'made.pem');
  const first = await openSigner(path, true).publicKey();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await openSigner(path, true).publicKey()).toEqual(first);
  expect(await openSigner(path, false).publicKey()).toEqual(first);
});

test('a key that is missing is asked for, never made in silence', () => {
  const path = join(scratch, 'missing.pem');
  expect(() => openSigner(path, false)).toThrow(
    /no signing key in .*missing\.pem.*indelible keygen/,
  );
  expect(existsSync(path)).toBe(false);
});

test.each([0o640, 0o604, 0o660])('a key of mode %o, which others can read, is refused', (mode) => {
  const path = keyFile(`open-${mode}.pem`, newSigningKey(), mode);
  expect(() => openSigner(path, false)).toThrow(/open to others .*chmod it to 0600/);
  expect(() => openSigner(path, true)).toThrow(/open to others/);
});

test('a text that is no Ed25519 key is refused without a word of it', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const wrong = {
    'ec.pem': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    'public.pem': createPublicKey(newSigningKey())
      .export({ type: 'spki', format: 'pem' })
      .toString(),
    'cut.pem': newSigningKey().slice(0, 60),
    'text.pem': 'c2VjcmV0IHRleHQ=',
  };
  for (const [name, text] of Object.entries(wrong)) {
    const path = keyFile(name, text);
    const secret = /[\w+/=]{12,}/.exec(text.replaceAll(/-----.*-----/g, ''))?.[0] ?? 'none';
    let said = '';
    try {
      openSigner(path, false);
    } catch (error) {
      said = String(error);
    }
    expect(said, name).toMatch(/does not hold an Ed25519 private key/);
    expect(said, name).not.toContain(secret);
    expect(readFileSync(path, 'utf8')).toBe(text);
  }
});
