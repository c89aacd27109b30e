import {
  canonicalize,
  FormatError,
  type ProofCode,
  parseEventProof,
  parseProvenJson,
  parseVerifierKey,
  portableSha256,
  proofLimits,
  readOrNull,
  verifyEventProof,
} from '@indelible/protocol';
import type { AuditEvent } from '../api-types.ts';
import type { LogCalls } from '../calls/log-calls.ts';
import { IndelibleError } from '../http/errors.ts';
import { plainJson } from './plain-json.ts';

/** The result of checking one event. */
export interface EventVerdict {
  /** True only for the code `valid`. */
  valid: boolean;
  /** `no_proof`: the event does not exist, or has expired. Codes are stable. */
  code: ProofCode | 'no_proof';
  /** What was proven, as a sentence. */
  message: string;
  /** What was not proven, as a sentence. */
  limits: string;
  /** The keys that checked the signature: the caller's, or those that the service states. */
  keys: 'given' | 'stated';
  /** The proven event with its states; null unless valid. */
  event: AuditEvent | null;
  /** RFC 6962 hash of its log entry, hexadecimal; null unless valid. */
  leafHash: string | null;
  /** The signed state of the log that it was checked against; null if none can be trusted. */
  checkpoint: { origin: string; size: number } | null;
}

export interface VerifyOptions {
  /**
   * Verifier keys from another source, one vkey line each. Without them the keys that the service
   * states are used: then a false log is only revealed by earlier checkpoints.
   */
  vkeys?: string | readonly string[];
}

/**
 * Fetches an event's proof and checks it here: content → commitment → leaf → path → root →
 * signature. Given an event instead of an id, it also compares that event with the proven one.
 * Throws like every call, and FormatError for a malformed key in `vkeys`; every problem of the
 * proof is a verdict.
 */
export async function verifyEvent(
  client: { readonly log: Pick<LogCalls, 'proof' | 'keys'> },
  shown: string | AuditEvent,
  options: VerifyOptions = {},
): Promise<EventVerdict> {
  const vkeys = options.vkeys === undefined ? undefined : [options.vkeys].flat();
  const id = typeof shown === 'string' ? shown : shown.id;
  const keys = vkeys === undefined ? 'stated' : 'given';
  const common = { limits: proofLimits, keys } as const;
  const failed = (code: EventVerdict['code'], message: string): EventVerdict => {
    const nothing = { event: null, leafHash: null, checkpoint: null };
    return { valid: false, code, message, ...common, ...nothing };
  };
  const proof = await client.log.proof(id);
  if (proof === null) return failed('no_proof', `The service has no proof of an event ${id}.`);
  const trusted = vkeys ?? (await statedKeys(client.log, proof));
  const verdict = await verifyEventProof(portableSha256, proof, trusted);
  if (verdict.code !== 'valid') return failed(verdict.code, verdict.message);
  const proven = parseProvenJson(proof) as Proven;
  const other = differenceOf(proven, shown);
  if (other !== null) return failed('content_mismatch', other);
  const message = vkeys === undefined ? `${verdict.message} ${ownKeys}` : verdict.message;
  const { origin, size } = verdict.checkpoint;
  const { event, leafHash } = proven;
  return {
    valid: true,
    code: 'valid',
    message,
    ...common,
    event,
    leafHash,
    checkpoint: { origin, size },
  };
}

/** The used members of a proof. */
interface Proven {
  event: AuditEvent;
  leafHash: string;
  /** The hashes of erased segments, by name. */
  hashes?: Record<string, string>;
}

const ownKeys = 'The verifier key comes from the service itself.';

/** The keys that the service states for the log of this proof; none if the proof names no log. */
async function statedKeys(log: Pick<LogCalls, 'keys'>, proof: Uint8Array): Promise<string[]> {
  try {
    const [origin = ''] = parseEventProof(proof).checkpoint.split('\n');
    const { keys } = (await log.keys(origin)) ?? {};
    return [keys ?? []].flat().flatMap((key) => (isVerifierKey(key?.vkey) ? [key.vkey] : []));
  } catch (error) {
    // A malformed or foreign origin: the verdict says so.
    if (error instanceof FormatError) return [];
    if (error instanceof IndelibleError && error.code === 'invalid_parameter') return [];
    throw error;
  }
}

const isVerifierKey = (vkey: unknown): vkey is string =>
  typeof vkey === 'string' && readOrNull(() => parseVerifierKey(portableSha256, vkey)) !== null;

/** Why the proof is not of the requested event, or null. */
function differenceOf({ event, hashes = {} }: Proven, shown: string | AuditEvent): string | null {
  const id = typeof shown === 'string' ? shown : shown.id;
  if (event.id !== id) return `The proof is of another event, ${event.id}.`;
  if (typeof shown === 'string') return null;
  // What the proof has only as a hash must be marked as erased.
  const isMarked = Object.keys(hashes).sort().join() === [...(shown.erased ?? [])].sort().join();
  if (isMarked && textOf(event, shown) === textOf(shown, shown)) return null;
  return 'The proven event differs from the one that was shown.';
}

/** Compares states only if they were shown, and ignores members that are not part of the event. */
function textOf(event: AuditEvent, shown: AuditEvent): string {
  const left = ['leafHash', 'warnings', 'warningPaths', 'erased'];
  if (!('before' in shown || 'after' in shown)) left.push('before', 'after');
  const members = Object.entries(event).filter(([name]) => !left.includes(name));
  return canonicalize(plainJson(Object.fromEntries(members)));
}
