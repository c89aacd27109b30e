import type { IndelibleClient } from '@indelible/client';
import {
  entryBytes,
  equalBytes,
  type Findings,
  formatHex,
  formatTimestamp,
  inclusionProof,
  isCount,
  isUuid,
  leafHash,
  parseEventProof,
  proofLimits,
  readOrNull,
  receivedAtUs,
  tileWidth,
  uuidFromEventId,
  uuidTimeMs,
  verifyEventProof,
  verifyInclusion,
} from '@indelible/protocol';
import type { BundleCheck } from '../bundle/verify-bundle.ts';
import { UsageError } from '../io.ts';
import { sha } from './hashing.ts';
import { entryTiles } from './log-entries.ts';
import { type TileSource, tileNodes } from './log-source.ts';
import { readAtMost } from './read-at-most.ts';
import { type Report, verified } from './report.ts';
import { checkpointOf, keysFor, logIdOf, nullWhenFailed, serviceTiles } from './service-log.ts';
import { type SignedCheckpoint, trustedCheckpoint } from './trusted-checkpoint.ts';

interface ReceiptOptions {
  path: string;
  vkeys: readonly string[];
}

interface Judged {
  signed: SignedCheckpoint | null;
  follows: string[];
  doesNotFollow?: string[];
}

const kept = (receipt: Receipt) =>
  `The log keeps the promise of the receipt: event ${receipt.id} is entry ` +
  `${receipt.sequence} of the log.`;

/** Compares a saved recording answer with a proof from the service. */
export async function verifyReceipt(
  client: IndelibleClient,
  { path, vkeys }: ReceiptOptions,
): Promise<Report> {
  const receipt = readReceipt(path);
  return verified('receipt', path, undefined, async ({ findings }) => {
    if (receipt.tenantId !== null) requireSameTenant(receipt, await tenantOf(client));
    const proof = await client.log.proof(receipt.id).catch(nullWhenFailed);
    const run = { client, receipt, vkeys, findings };
    const judged = await (proof === null ? judgeByEntry(run) : judgeByProof(run, proof));
    return { doesNotFollow: [proofLimits], ...judged };
  });
}

/** The tenant of the key, from any of its events; null if there are none. */
async function tenantOf(client: IndelibleClient): Promise<string | null> {
  for await (const { tenantId } of client.list({ limit: 1 })) return tenantId;
  return null;
}

interface Run {
  client: IndelibleClient;
  receipt: Receipt;
  vkeys: readonly string[];
  findings: Findings;
}

async function judgeByProof(run: Run, proof: Uint8Array): Promise<Judged> {
  const { client, receipt, findings } = run;
  const position = { sequence: receipt.sequence, eventId: receipt.id };
  const parsed = readOrNull(
    () => parseEventProof(proof),
    ({ message }) =>
      findings.add('receipt_unproven', `The proof cannot be read: ${message}.`, position),
  );
  if (parsed === null) return { signed: null, follows: [] };
  const note = new TextEncoder().encode(parsed.checkpoint);
  const keys = await keysFor(client, note, run.vkeys);
  const signed = await trustedCheckpoint(note, keys, findings);
  if (signed === null) return { signed, follows: [] };
  const verdict = await verifyEventProof(sha, proof, keys.vkeys);
  if (verdict.code !== 'valid') findings.add('receipt_unproven', verdict.message, position);
  compare(findings, receipt, parsed.sequence, formatHex(parsed.leafHash));
  return { signed, follows: [kept(receipt), verdict.message] };
}

function compare(findings: Findings, receipt: Receipt, sequence: number, leaf: string): void {
  const { id: eventId } = receipt;
  if (receipt.sequence === sequence && receipt.leafHash === leaf) return;
  const message =
    `The receipt promises event ${eventId} at sequence ${receipt.sequence} with leaf hash ` +
    `${receipt.leafHash}; the log has sequence ${sequence} with ${leaf}.`;
  findings.add('receipt_mismatch', message, { sequence: receipt.sequence, eventId });
}

/**
 * For an event that the service does not show: its entry stays in the log after the event has
 * expired. An event newer than the cutoff is missing.
 */
async function judgeByEntry({ client, receipt, vkeys, findings }: Run): Promise<Judged> {
  const signed = await checkpointOf(await client.log.checkpoint(), client, vkeys, findings);
  if (signed === null) return { signed, follows: [] };
  const { size, root } = signed.checkpoint;
  const { sequence, id: eventId } = receipt;
  const position = { sequence, eventId };
  if (sequence >= size) {
    const message = `The service has no event ${eventId}, and its log ends at ${size} entries.`;
    findings.add('receipt_unproven', message, position);
    return { signed, follows: [] };
  }
  const source = serviceTiles(client, signed);
  const leaf = Buffer.from(receipt.leafHash, 'hex');
  const path = await pathOf(source, sequence, size);
  if (!path || !verifyInclusion(sha, { leafHash: leaf, index: sequence, size, path, root })) {
    const message = `The log does not lead from the promised leaf ${receipt.leafHash} at sequence ${sequence} to its root.`;
    findings.add('receipt_unproven', message, position);
    return { signed, follows: [] };
  }
  const cutoffMs = await cutoffOf(client, logIdOf(signed.checkpoint), eventId);
  // Retention counts from the receipt of an event that came late.
  const timeMs = uuidTimeMs(uuidFromEventId(eventId) ?? '');
  const entry = await entryAt(source, sequence, size, findings);
  const isProven = entry !== null && equalBytes(leafHash(sha, entry), leaf);
  const receivedMs = isProven ? receivedAtUs(entry) / 1_000 : Number.POSITIVE_INFINITY;
  if (cutoffMs === null || Math.max(timeMs, receivedMs) >= cutoffMs) {
    const message = `The log holds entry ${sequence}, but the service shows no event ${eventId} that can be proven.`;
    findings.add('missing_body', message, position);
    return { signed, follows: [] };
  }
  const hidden =
    `That the event expired rightly: it is from before the cutoff ${formatTimestamp(cutoffMs)} ` +
    'that the service states. Verify the whole log for that.';
  return { signed, follows: [kept(receipt)], doesNotFollow: [hidden, proofLimits] };
}

/** The entry as the service shows it; null without one. */
async function entryAt(source: TileSource, sequence: number, size: number, findings: Findings) {
  const tile = Math.floor(sequence / tileWidth);
  const end = Math.min(size, (tile + 1) * tileWidth);
  for await (const entries of entryTiles(source, end, findings, tile)) {
    const at = (sequence - tile * tileWidth) * entryBytes;
    return entries.subarray(at, at + entryBytes);
  }
  return null;
}

/** The hashes from the entry to the root; null if the tiles do not have them. */
async function pathOf(source: TileSource, sequence: number, size: number) {
  try {
    return await inclusionProof(sha, tileNodes(source, size), sequence, size);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The plan's cutoff, which the service states with any page of events. */
async function cutoffOf(client: IndelibleClient, logId: string, after: string) {
  for await (const { cutoffMs } of client.log.bodies(logId, `after=${after}`)) return cutoffMs;
  return null;
}

/** Compares a saved recording answer with a bundle. */
export function receiptCheck(path: string): BundleCheck {
  const receipt = readReceipt(path);
  return {
    what: 'receipt',
    subject: path,
    begin: ({ tenantId }) => requireSameTenant(receipt, tenantId.toLowerCase()),
    finish({ file, findings }) {
      const { sequence, id: eventId } = receipt;
      if (sequence < file.size) {
        compare(findings, receipt, sequence, formatHex(leafHash(sha, file.at(sequence))));
      } else {
        const message = `The bundle ends at ${file.size} entries: it does not reach ${sequence}.`;
        findings.add('receipt_unproven', message, { sequence, eventId });
      }
      return { follows: [kept(receipt)] };
    },
  };
}

/** The content of a recording answer: this leaf at this sequence. */
interface Receipt {
  id: string;
  sequence: number;
  /** Lower-case hexadecimal. */
  leafHash: string;
  /** The tenant; null if the receipt was reduced to the required members. */
  tenantId: string | null;
}

/** Reads a saved answer of `POST /api/audit-logs`. Throws UsageError for anything else. */
function readReceipt(path: string): Receipt {
  let json: Partial<Record<string, unknown>> | null = null;
  try {
    json = JSON.parse(readAtMost(path, receiptBytesMax));
  } catch (error) {
    // The parser's message would repeat what the file holds, and it may be any file.
    const why =
      error instanceof SyntaxError || !(error instanceof Error) ? '' : `: ${error.message}`;
    throw new UsageError(`${path} cannot be read as JSON${why}`);
  }
  const { id, sequence, leafHash, tenantId } = json ?? {};
  const isId = typeof id === 'string' && uuidFromEventId(id) !== null;
  const isHash = typeof leafHash === 'string' && /^[0-9a-f]{64}$/.test(leafHash);
  const owner = typeof tenantId === 'string' && isUuid(tenantId) ? tenantId.toLowerCase() : null;
  if (isId && isCount(sequence) && isHash) return { id, sequence, leafHash, tenantId: owner };
  throw new UsageError(
    `${path} is not an answer to a recording call: it needs id, sequence and leafHash`,
  );
}

/** Throws UsageError for a receipt of another tenant: it proves nothing about this log. */
function requireSameTenant(receipt: Receipt, tenantId: string | null): void {
  if (receipt.tenantId === null || tenantId === null || receipt.tenantId === tenantId) return;
  throw new UsageError(
    `the receipt belongs to tenant ${receipt.tenantId}, and the log or bundle to ${tenantId}`,
  );
}

// Room for an event with both states; the service's answers are no longer.
const receiptBytesMax = 16 * 2 ** 20;
