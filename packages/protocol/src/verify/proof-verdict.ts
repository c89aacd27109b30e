import type { Checkpoint, OpenedCheckpoint } from '../log/checkpoint.ts';

/**
 * The outcome of checking a proof. Codes are stable; only `valid` means success.
 * - `malformed_proof`: wrong form, or the body has a member that cannot be proven
 * - `derived_field_mismatch`: a field does not follow from the others
 * - `content_mismatch`: the body does not match the stated commitment
 * - `leaf_mismatch`: commitment, id and receipt time do not give the stated leaf hash
 * - `not_included`: the path does not lead from the leaf, at its index, to the checkpoint's root
 * - `malformed_checkpoint`, `unknown_key`, `bad_signature`: there is no trusted checkpoint
 */
export type ProofCode =
  | 'malformed_proof'
  | 'derived_field_mismatch'
  | 'content_mismatch'
  | 'leaf_mismatch'
  | 'not_included'
  | OpenedCheckpoint['code'];

/** `message` is the consequence as a sentence; it names the checkpoint if that is signed. */
export type ProofVerdict =
  | { code: 'valid'; message: string; checkpoint: Checkpoint }
  | { code: Exclude<ProofCode, 'valid'>; message: string };

/** What a proof of one event cannot show. */
export const proofLimits =
  'Not proven that the event tells the truth, that no other event is missing, ' +
  'or that the service shows the same log to others. For that, verify the whole log ' +
  'and compare checkpoints.';
