import { createPublicKey, verify } from 'node:crypto';
import { expect } from 'vitest';

/* Reads signed notes, checkpoints and vkey lines directly by the C2SP texts, with node:crypto. */

export interface SignedCheckpointText {
  origin: string;
  size: number;
  root: Buffer;
}

/** Reads a checkpoint; fails unless it has three lines and one signature by the vkey line's key. */
export function openNote(note: string, vkey: string): SignedCheckpointText {
  const parts = /^(.+)\n(\d+)\n(.{44})\n\n\u2014 (\S+) (\S+)\n$/.exec(note);
  expect(parts, `not a checkpoint: ${note}`).not.toBeNull();
  const [, origin = '', size = '', root = '', signer = '', signed = ''] = parts ?? [];
  const [, name = '', id = '', key = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey) ?? [];
  expect(signer).toBe(origin);
  expect(name).toBe(origin);
  const signature = Buffer.from(signed, 'base64');
  expect(signature.subarray(0, 4).toString('hex')).toBe(id);
  const text = Buffer.from(note.slice(0, note.indexOf('\n\n') + 1));
  expect(verify(null, text, publicKeyOf(key), signature.subarray(4))).toBe(true);
  return { origin, size: Number(size), root: Buffer.from(root, 'base64') };
}

function publicKeyOf(base64: string) {
  const bytes = Buffer.from(base64, 'base64');
  expect([bytes.length, bytes[0]]).toEqual([33, 1]);
  const x = bytes.subarray(1).toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}
