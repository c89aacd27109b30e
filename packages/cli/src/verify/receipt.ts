import { closeSync, openSync, readSync } from 'node:fs';
import { isUuid, uuidFromEventId } from '@indelible/protocol';
import { UsageError } from '../exit-codes.ts';

/** The content of a recording answer: this leaf at this sequence. */
export interface Receipt {
  id: string;
  sequence: number;
  /** Lower-case hexadecimal. */
  leafHash: string;
  /** The tenant; null if the receipt was reduced to the required members. */
  tenantId: string | null;
}

/** Reads a saved answer of `POST /api/audit-logs`. Throws UsageError for anything else. */
export function readReceipt(path: string): Receipt {
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
  const isSequence = Number.isSafeInteger(sequence) && (sequence as number) >= 0;
  const isHash = typeof leafHash === 'string' && /^[0-9a-f]{64}$/.test(leafHash);
  const owner = typeof tenantId === 'string' && isUuid(tenantId) ? tenantId.toLowerCase() : null;
  if (isId && isSequence && isHash)
    return { id, sequence: sequence as number, leafHash, tenantId: owner };
  throw new UsageError(
    `${path} is not an answer to a recording call: it needs id, sequence and leafHash`,
  );
}

/** Throws UsageError for a receipt of another tenant: it proves nothing about this log. */
export function requireSameTenant(receipt: Receipt, tenantId: string | null): void {
  if (receipt.tenantId === null || tenantId === null || receipt.tenantId === tenantId) return;
  throw new UsageError(
    `the receipt belongs to tenant ${receipt.tenantId}, and the log or bundle to ${tenantId}`,
  );
}

// Room for an event with both states; the service's answers are no longer.
const receiptBytesMax = 16 * 2 ** 20;

/** The text of a file or pipe, read up to a limit. */
function readAtMost(path: string, bytesMax: number): string {
  const fd = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    for (let length = 0; length <= bytesMax; ) {
      const chunk = Buffer.alloc(1 << 16);
      const read = readSync(fd, chunk);
      if (read === 0) return Buffer.concat(chunks).toString();
      chunks.push(chunk.subarray(0, read));
      length += read;
    }
    throw new Error(`it is longer than ${bytesMax} bytes`);
  } finally {
    closeSync(fd);
  }
}
