import type { AuditEvent } from '@indelible/client';
import {
  openCheckpoint,
  type ProofCode,
  portableSha256,
  verifyEventProof,
} from '@indelible/protocol';
import { client } from '../api.ts';

/** The result of this browser's check of one event. */
export interface ProofResult {
  code: ProofCode | 'missing';
  /** Sequence of the event and size of the log, if the proof could be read. */
  sequence: number | null;
  size: number | null;
  leafHash: string | null;
  /** Name of the key that signed. */
  origin: string | null;
}

interface ProofText {
  event?: Partial<AuditEvent>;
  /** Of erased segments, by name. */
  hashes?: Record<string, string>;
  sequence: number;
  leafHash: string;
  checkpoint: string;
}

/**
 * Fetches the proof of an event and checks it here: leaf, path and signature, and that the proven
 * event is the shown one (`before` and `after` only if they are shown).
 */
export async function checkEvent(shown: AuditEvent): Promise<ProofResult> {
  const bytes = await client.log.proof(shown.id);
  const nothing = { sequence: null, size: null, leafHash: null, origin: null };
  if (bytes === null) return { code: 'missing', ...nothing };
  const proof = JSON.parse(new TextDecoder().decode(bytes)) as ProofText;
  const vkeys = await keysOf(String(proof.checkpoint).split('\n')[0] ?? '');
  const { code } = await verifyEventProof(portableSha256, bytes, vkeys);
  if (code === 'malformed_proof') return { code, ...nothing };
  const opened = await openCheckpoint(portableSha256, proof.checkpoint, vkeys);
  const head = opened.code === 'valid' ? opened.checkpoint : null;
  return {
    code: isShown(proof, shown) ? code : 'content_mismatch',
    sequence: proof.sequence,
    size: head?.size ?? null,
    leafHash: proof.leafHash,
    origin: head?.origin ?? null,
  };
}

/** Segments that the proof has only as hashes must be those that the event marks as erased. */
function isShown({ event: proven = {}, hashes = {} }: ProofText, shown: AuditEvent): boolean {
  const { before: _before, after: _after, ...withoutStates } = proven;
  const { erased = [], ...kept } = shown;
  const compared = 'before' in shown || 'after' in shown ? proven : withoutStates;
  const sameErased = sorted(Object.keys(hashes).sort()) === sorted([...erased].sort());
  return sameErased && sorted(compared) === sorted(kept);
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

const keys = new Map<string, Promise<string[]>>();

/** The keys that sign for an origin, requested once. */
export function keysOf(origin: string): Promise<string[]> {
  const known = keys.get(origin);
  if (known) return known;
  const asked = client.log.keys(origin).then((answer) => answer.keys.map(({ vkey }) => vkey));
  keys.set(origin, asked);
  asked.catch(() => keys.delete(origin));
  return asked;
}
