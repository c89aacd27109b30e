import { type Checkpoint, type OpenedCheckpoint, sizedCheckpoint } from '../log/checkpoint.ts';

/**
 * What came of checking a proof. Stable codes; only `valid` says yes.
 * - `malformed_proof`: not of the form, or the body says more than can be proven
 * - `derived_field_mismatch`: a field is not what follows from the others
 * - `content_mismatch`: the body is not what the stated commitment stands for
 * - `leaf_mismatch`: the commitment, id and time of receipt do not give the stated leaf hash
 * - `not_included`: the path does not lead from the leaf, at its place, to the checkpoint's root
 * - `malformed_checkpoint`, `unknown_key`, `bad_signature`: there is no trustworthy checkpoint
 */
export type ProofCode =
  | 'malformed_proof'
  | 'derived_field_mismatch'
  | 'content_mismatch'
  | 'leaf_mismatch'
  | 'not_included'
  | OpenedCheckpoint['code'];

export interface ProofVerdict {
  code: ProofCode;
  /** What follows, in words; names the checkpoint when there is a signed one. */
  message: string;
}

/** What no proof of one event can show, for the people who read a verdict. */
export const proofLimits =
  'Not proven that the event tells the truth, that no other event is missing, ' +
  'or that the service shows the same log to others. For that, verify the whole log ' +
  'and compare checkpoints.';

/** The verdict on entry `index`, once the checkpoint is known to be signed. */
export function inclusionVerdict(
  isIncluded: boolean,
  index: number,
  checkpoint: Checkpoint,
): ProofVerdict {
  const against = `Against ${sizedCheckpoint(checkpoint)}`;
  if (!isIncluded) {
    const message = `${against}: this is not proven to be entry ${index} of that log.`;
    return { code: 'not_included', message };
  }
  return { code: 'valid', message: `${against}: this is entry ${index} of that log.` };
}
