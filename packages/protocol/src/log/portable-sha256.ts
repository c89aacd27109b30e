import { sha256 } from '@noble/hashes/sha2.js';
import type { Sha256 } from './merkle.ts';

/**
 * SHA-256 for browsers and edge runtimes, which lack `node:crypto`. WebCrypto's digest returns a
 * promise for each hash, too slow for a tree of millions.
 */
export const portableSha256: Sha256 = (data) => sha256(data);
