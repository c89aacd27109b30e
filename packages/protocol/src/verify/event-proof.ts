import { derivedFieldProblem } from '../event/derived-fields.ts';
import {
  commitmentOfBody,
  type EventBody,
  eventBodyOf,
  hasStateSegment,
  parseProvenJson,
  quoted,
  versionOf,
  withheldSegments,
  withholdsContext,
} from '../event/event-body.ts';
import { formatReceivedAt, parseReceivedAt } from '../event/timestamp.ts';
import { isCount } from '../json/strict-json.ts';
import { equalBytes, FormatError, parseHex } from '../log/bytes.ts';
import { type Checkpoint, openCheckpoint, sizedCheckpoint } from '../log/checkpoint.ts';
import { encodeEntry } from '../log/entry.ts';
import { hashBytes, leafHash, type Sha256 } from '../log/merkle.ts';
import { verifyInclusion } from '../log/merkle-proofs.ts';
import type { ProofVerdict } from './proof-verdict.ts';

/** `GET /api/audit-logs/{id}/proof`, decoded. */
export interface EventProof {
  body: EventBody;
  /** The time in the log entry, in microseconds since 1970. */
  receivedAtUs: number;
  commitment: Uint8Array;
  leafHash: Uint8Array;
  sequence: number;
  /** The signed note, unchanged. */
  checkpoint: string;
  /** Sibling hashes, from the leaf up. */
  path: Uint8Array[];
}

/** The height of a tree of 2^63 leaves. */
const pathHashesMax = 63;
const proofMembers = [
  'event',
  'receivedAt',
  'salts',
  'hashes',
  'identityMembers',
  'commitment',
  'leafHash',
  'sequence',
  'checkpoint',
  'path',
];

/**
 * Reads the JSON text `{event, receivedAt, salts, hashes?, identityMembers?, commitment, leafHash,
 * sequence, checkpoint, path}`; hashes and salts are lower-case hexadecimal. Throws only
 * FormatError. Pass the original text: JSON.parse drops repeated members.
 */
export function parseEventProof(source: string | Uint8Array): EventProof {
  const value = parseProvenJson(source);
  if (typeof value !== 'object' || value === null) throw new FormatError('a proof is an object');
  const json = value as Record<string, unknown>;
  const other = Object.keys(json).find((name) => !proofMembers.includes(name));
  if (other !== undefined) throw new FormatError(`a proof has no member ${quoted(other)}`);
  const { event, salts, hashes, identityMembers, sequence, checkpoint, path } = json;
  if (!isCount(sequence)) throw new FormatError('sequence is not a whole number from 0');
  if (typeof checkpoint !== 'string') throw new FormatError('checkpoint is not a text');
  if (!Array.isArray(path) || path.length > pathHashesMax) {
    throw new FormatError('path is not a list of at most 63 hashes');
  }
  return {
    body: eventBodyOf({ event, salts, hashes, identityMembers }),
    receivedAtUs: receivedAtOf(json.receivedAt),
    commitment: hashOf(json.commitment, 'commitment'),
    leafHash: hashOf(json.leafHash, 'leafHash'),
    sequence,
    checkpoint,
    path: path.map((hash: unknown) => hashOf(hash, 'a hash of path')),
  };
}

function hashOf(value: unknown, where: string): Uint8Array {
  const bytes = typeof value === 'string' ? parseHex(value) : null;
  if (bytes?.length !== hashBytes) throw new FormatError(`${where} is not 32 bytes of hexadecimal`);
  return bytes;
}

function receivedAtOf(value: unknown): number {
  const us = typeof value === 'string' ? parseReceivedAt(value) : null;
  if (us === null) throw new FormatError('receivedAt is not a valid receipt time');
  return us;
}

/**
 * Checks the whole chain: body → segments → commitment → entry → leaf → path → root → signature,
 * and the derived fields. Every problem of the proof is a verdict, also a malformed text; only
 * malformed vkeys throw FormatError. The verdict names withheld segments, because their content is
 * not checked.
 */
export async function verifyEventProof(
  sha: Sha256,
  source: string | Uint8Array,
  vkeys: readonly string[],
): Promise<ProofVerdict> {
  const proof = readProof(source);
  if ('code' in proof) return proof;
  const problem = bodyProblem(sha, proof);
  if (problem !== null) return problem;
  const opened = await openCheckpoint(sha, proof.checkpoint, vkeys);
  if (opened.code !== 'valid') return opened;
  const { checkpoint } = opened;
  const { size, root } = checkpoint;
  const { sequence: index, path } = proof;
  if (verifyInclusion(sha, { leafHash: proof.leafHash, index, size, path, root })) {
    return { code: 'valid', message: validMessage(proof, checkpoint), checkpoint };
  }
  const against = `Against ${sizedCheckpoint(checkpoint)}`;
  const message = `${against}: this is not proven to be entry ${index} of that log.`;
  return { code: 'not_included', message };
}

function readProof(source: string | Uint8Array): EventProof | ProofVerdict {
  try {
    return parseEventProof(source);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return {
      code: 'malformed_proof',
      message: `This is not a proof of an event: ${error.message}.`,
    };
  }
}

/** Why the event does not match the leaf hash, or null. */
function bodyProblem(sha: Sha256, proof: EventProof): ProofVerdict | null {
  const { body, sequence, receivedAtUs } = proof;
  const { event } = body;
  const commitment = commitmentOfBody(sha, body);
  if (!equalBytes(commitment, proof.commitment)) {
    const message = 'The content of the event does not match its commitment.';
    return { code: 'content_mismatch', message };
  }
  const derived =
    event.sequence === sequence
      ? derivedFieldProblem(event, hasStateSegment(body), receivedAtUs, withholdsContext(body))
      : 'its sequence differs from that of the proof';
  if (derived !== null) {
    return { code: 'derived_field_mismatch', message: `The event contradicts itself: ${derived}.` };
  }
  const version = versionOf(body);
  const entry = encodeEntry({ version, receivedAtUs, eventUuid: event.uuid, commitment });
  if (equalBytes(leafHash(sha, entry), proof.leafHash)) return null;
  const message = 'Id, receipt time and commitment do not hash to the leaf hash.';
  return { code: 'leaf_mismatch', message };
}

function validMessage({ body, sequence, receivedAtUs }: EventProof, checkpoint: Checkpoint) {
  const withheld = withheldSegments(body);
  const rest =
    withheld.length === 0 ? '' : ` Withheld, and so not checked: ${withheld.join(', ')}.`;
  return (
    `Against ${sizedCheckpoint(checkpoint)}: event ${body.event.id} is entry ${sequence} of that log, with the content it was ` +
    `recorded with at ${formatReceivedAt(receivedAtUs)}.${rest}`
  );
}
