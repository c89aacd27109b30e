import { hash } from 'node:crypto';
import type { Sha256 } from '@indelible/protocol';

/** SHA-256 of a few dozen bytes as a string: Node makes one in half the time of a Buffer. */
export const sha: Sha256 = (data) => bytesOf(hash('sha256', data, 'binary'));

/** The SHA-256 of a text in UTF-8. */
export const shaOfText = (text: string): Uint8Array => bytesOf(hash('sha256', text, 'binary'));

function bytesOf(digest: string): Uint8Array {
  const bytes = new Uint8Array(32);
  for (let at = 0; at < 32; at += 1) bytes[at] = digest.charCodeAt(at);
  return bytes;
}
