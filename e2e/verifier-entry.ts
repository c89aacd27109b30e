import {
  emptyRoot,
  formatHex,
  type ProofVerdict,
  portableSha256,
  verifyEventProof,
} from '@indelible/protocol';

/* What the browser test calls in the page. */

export function verdict(proof: string, vkeys: string[]): Promise<ProofVerdict> {
  return verifyEventProof(portableSha256, proof, vkeys);
}

export function emptyRootHex(): string {
  return formatHex(emptyRoot(portableSha256));
}
