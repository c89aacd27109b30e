import { readFileSync } from 'node:fs';
import { uuidFromEventId } from '@indelible/protocol';
import { UsageError } from '../exit-codes.ts';

/** What the answer to a recording call promises: this leaf at this place of the log. */
export interface Receipt {
  id: string;
  sequence: number;
  /** Lower-case hexadecimal. */
  leafHash: string;
}

/** Reads a saved answer of `POST /api/audit-logs`. Throws UsageError for anything else. */
export function readReceipt(path: string): Receipt {
  let json: Partial<Record<string, unknown>> | null = null;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UsageError(
      `${path} cannot be read as JSON: ${error instanceof Error ? error.message : error}`,
    );
  }
  const { id, sequence, leafHash } = json ?? {};
  const isId = typeof id === 'string' && uuidFromEventId(id) !== null;
  const isPlace = Number.isSafeInteger(sequence) && (sequence as number) >= 0;
  const isHash = typeof leafHash === 'string' && /^[0-9a-f]{64}$/.test(leafHash);
  if (isId && isPlace && isHash) return { id, sequence: sequence as number, leafHash };
  throw new UsageError(
    `${path} is no answer to a recording call: it needs id, sequence and leafHash`,
  );
}
