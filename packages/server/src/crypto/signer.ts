import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Config } from '../config.ts';
import { codeOf, messageOf } from '../postgres/embedded/error-code.ts';
import { readOrCreateSecretFile, readSecretFile } from '../postgres/embedded/secret-file.ts';

const signAsync = promisify(sign);

/** Signs checkpoints with Ed25519; a key management service can implement it too. */
export interface Signer {
  publicKey(): Promise<Uint8Array>;
  /** The 64-byte signature of `message`. */
  sign(message: Uint8Array): Promise<Uint8Array>;
}

/** A new Ed25519 key as PKCS #8 PEM, for SIGNING_KEY_FILE. */
export function newSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trim();
}

/**
 * The signer of a PEM file of mode 0600; `create` makes the file on the first start. Throws a
 * sentence if it is missing, readable by others, or holds another kind of key.
 */
export function openSigner(path: string, create: boolean): Signer {
  return signerOf(
    parseKey(path, create ? readOrCreateSecretFile(path, newSigningKey) : readKey(path)),
  );
}

export type SigningKeyFile = ReturnType<typeof signingKeyFileOf>;

/** The file of the signing key: the named one, or one that the first start generates. */
export function signingKeyFileOf({ signingKeyFile, dataDir }: Config) {
  const path = signingKeyFile ?? join(dataDir, 'signing-key.pem');
  return { path, isNamed: signingKeyFile !== null };
}

export function openConfiguredSigner(config: Config): Signer {
  const file = signingKeyFileOf(config);
  return openConfigured(file, !file.isNamed);
}

/** For a command, which makes no key: null where a service would make one. */
export function openPresentSigner(config: Config): Signer | null {
  const file = signingKeyFileOf(config);
  return file.isNamed || existsSync(file.path) ? openConfigured(file, false) : null;
}

/** Names the variable in an error about the file that it names. */
function openConfigured({ path, isNamed }: SigningKeyFile, create: boolean): Signer {
  try {
    return openSigner(path, create);
  } catch (cause) {
    throw isNamed ? new Error(`SIGNING_KEY_FILE: ${messageOf(cause)}`, { cause }) : cause;
  }
}

/** RFC 8410: the PKCS #8 header of a 32-byte Ed25519 private key. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The signer of a 32-byte Ed25519 private key. */
export function seedSigner(seed: Uint8Array): Signer {
  const key = Buffer.concat([pkcs8Prefix, seed]);
  return signerOf(createPrivateKey({ key, format: 'der', type: 'pkcs8' }));
}

function signerOf(key: KeyObject): Signer {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return {
    publicKey: async () => new Uint8Array(spki.subarray(-32)), // RFC 8410: the key ends the structure
    // On a thread of the pool: a round signs thousands of checkpoints, and must not block requests.
    sign: async (message) => new Uint8Array(await signAsync(null, message, key)),
  };
}

function readKey(path: string): string {
  try {
    return readSecretFile(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    throw new Error(`there is no signing key in ${path}; make one with \`indelible keygen\``);
  }
}

function parseKey(path: string, pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // The original error may quote the key.
  }
  throw new Error(
    `${path} does not hold an Ed25519 private key in PEM; make one with \`indelible keygen\``,
  );
}
