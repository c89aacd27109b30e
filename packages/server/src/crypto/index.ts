export { createRandom } from './random.ts';
export type { Sealer } from './sealed.ts';
export { hashSecretToken, newSecretToken } from './secret-token.ts';
export { sha, shaOfText } from './sha256.ts';
export { openSigner, type Signer, seedSigner } from './signer.ts';
