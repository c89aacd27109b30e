import { sha256 } from '@noble/hashes/sha2.js';
import type { Sha256 } from './merkle.ts';

/**
 * SHA-256 for where there is no `node:crypto`: browsers and edge runtimes. WebCrypto's digest is
 * asynchronous, one promise a hash, which a tree of millions cannot afford.
 */
export const portableSha256: Sha256 = (data) => sha256(data);
