import {
  canonicalize,
  FormatError,
  openCheckpoint,
  type ProofCode,
  parseEventProof,
  parseProvenJson,
  parseVerifierKey,
  portableSha256,
  proofLimits,
  verifyEventProof,
} from '@indelible/protocol';
import type { AuditEvent } from '../api-types.ts';
import type { LogCalls } from '../calls/log-calls.ts';
import { IndelibleError } from '../http/errors.ts';
import { plainJson } from './plain-json.ts';

/** What came of checking one event. */
export interface EventVerdict {
  /** True for the code `valid`, and for no other. */
  valid: boolean;
  /**
   * `no_proof`: there is no such event, or it is past its retention. Stable, as the other codes.
   */
  code: ProofCode | 'no_proof';
  /** What follows from it, in words. */
  message: string;
  /** What does not follow from it, in words. */
  limits: string;
  /** The keys that the signature was checked with: the caller's, or those the service states. */
  keys: 'given' | 'stated';
  /** The event as it was proven, with its states; null unless valid. */
  event: AuditEvent | null;
  /**
   * The signed state of the log that it was checked
   * against; null where there is none to be trusted.
   */
  checkpoint: { origin: string; size: number } | null;
}

export interface VerifyOptions {
  /**
   * Verifier keys known from elsewhere, a vkey line each. Without them those that the service
   * states are used: then only what was signed before can convict it.
   */
  vkeys?: string | readonly string[];
}

/**
 * Fetches the proof of an event and checks it here, trusting nothing of it but the signature:
 * content → commitment → leaf → path → root → signature. Given an event in place of an id, it also
 * checks that what is proven is what was shown. Throws what calls throw, and FormatError for a
 * malformed key in `vkeys`; everything about the proof is a verdict.
 */
export async function verifyEvent(
  client: { readonly log: Pick<LogCalls, 'proof' | 'keys'> },
  shown: string | AuditEvent,
  options: VerifyOptions = {},
): Promise<EventVerdict> {
  const vkeys = options.vkeys === undefined ? undefined : [options.vkeys].flat();
  const id = typeof shown === 'string' ? shown : shown.id;
  const keys = vkeys === undefined ? 'stated' : 'given';
  const failed = (code: EventVerdict['code'], message: string): EventVerdict => {
    return {
      valid: false,
      code,
      message,
      limits: proofLimits,
      keys,
      event: null,
      checkpoint: null,
    };
  };
  const proof = await client.log.proof(id);
  if (proof === null) return failed('no_proof', `The service has no proof of an event ${id}.`);
  const trusted = vkeys ?? (await statedKeys(client.log, proof));
  const verdict = await verifyEventProof(portableSha256, proof, trusted);
  if (verdict.code !== 'valid') return failed(verdict.code, verdict.message);
  const event = (parseProvenJson(proof) as { event: AuditEvent }).event;
  const other = differenceOf(event, shown);
  if (other !== null) return failed('content_mismatch', other);
  const message = vkeys === undefined ? `${verdict.message} ${ownKeys}` : verdict.message;
  const checkpoint = await checkpointOf(proof, trusted);
  return { valid: true, code: 'valid', message, limits: proofLimits, keys, event, checkpoint };
}

const ownKeys = 'The verifier key comes from the service itself.';

/**
 * The keys that the service states for the log of this proof; none for a proof that names no log.
 */
async function statedKeys(log: Pick<LogCalls, 'keys'>, proof: Uint8Array): Promise<string[]> {
  try {
    const [origin = ''] = parseEventProof(proof).checkpoint.split('\n');
    const { keys } = (await log.keys(origin)) ?? {};
    return [keys ?? []].flat().flatMap((key) => (isVerifierKey(key?.vkey) ? [key.vkey] : []));
  } catch (error) {
    // Not of the form, or an origin that is none of the service's: the verdict says so.
    if (error instanceof FormatError) return [];
    if (error instanceof IndelibleError && error.code === 'invalid_parameter') return [];
    throw error;
  }
}

function isVerifierKey(vkey: unknown): vkey is string {
  if (typeof vkey !== 'string') return false;
  try {
    parseVerifierKey(portableSha256, vkey);
    return true;
  } catch {
    return false;
  }
}

/** Why the proof is not of what was asked for, or null. */
function differenceOf(proven: AuditEvent, shown: string | AuditEvent): string | null {
  const id = typeof shown === 'string' ? shown : shown.id;
  if (proven.id !== id) return `The proof is of another event, ${proven.id}.`;
  if (typeof shown === 'string' || textOf(proven, shown) === textOf(shown, shown)) return null;
  return 'The proven event differs from the one that was shown.';
}

/**
 * States count only where they were shown; what the service says beside an event is not part of it.
 */
function textOf(event: AuditEvent, shown: AuditEvent): string {
  const left = ['leafHash', 'warnings', 'erased'];
  if (!('before' in shown || 'after' in shown)) left.push('before', 'after');
  const members = Object.entries(event).filter(([name]) => !left.includes(name));
  return canonicalize(plainJson(Object.fromEntries(members)));
}

async function checkpointOf(proof: Uint8Array, vkeys: readonly string[]) {
  const opened = await openCheckpoint(portableSha256, parseEventProof(proof).checkpoint, vkeys);
  if (opened.code !== 'valid') return null;
  const { origin, size } = opened.checkpoint;
  return { origin, size };
}
