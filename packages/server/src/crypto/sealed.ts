import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes;

/** Encrypts secrets that the service must read again, such as webhook secrets. */
export type Sealer = ReturnType<typeof createSealer>;

/** Its key is derived by HKDF-SHA-256 (RFC 5869) from the session secret. */
export function createSealer(sessionSecret: string) {
  const key = new Uint8Array(hkdfSync('sha256', sessionSecret, '', 'indelible/sealed/v1', 32));
  return {
    /**
     * `version 1 ‖ 12-byte nonce ‖ ciphertext ‖ 16-byte tag`, AES-256-GCM. `context` names the
     * owner of the secret (`tenant-restore-secret:<id>`) and is authenticated with it.
     */
    seal(context: string, secret: string): Buffer {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
      // Binds the secret to its row: a writer of the table cannot move it to another row.
      cipher.setAAD(Buffer.from(context));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return Buffer.concat([Uint8Array.of(version), nonce, text, cipher.getAuthTag()]);
    },
    /** Throws for another key or context, or changed bytes. */
    open(context: string, sealed: Uint8Array): string {
      if (sealed[0] !== version || sealed.length < headBytes + tagBytes) throw cannotOpen();
      const nonce = sealed.subarray(1, headBytes);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(sealed.subarray(-tagBytes));
      const text = decipher.update(sealed.subarray(headBytes, -tagBytes));
      try {
        return Buffer.concat([text, decipher.final()]).toString('utf8');
      } catch {
        throw cannotOpen();
      }
    },
  };
}

function cannotOpen(): Error {
  return new Error(
    'a stored secret cannot be decrypted: SESSION_SECRET is not the one that it was ' +
      'stored with',
  );
}
