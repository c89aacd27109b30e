import type { IndelibleClient } from '@indelible/client';
import {
  type Checkpoint,
  equalBytes,
  FormatError,
  leafHash,
  parseEventProof,
  tileWidth,
} from '@indelible/protocol';
import type { EntryFile } from './entry-file.ts';
import { sha } from './hashing.ts';
import { inOrder } from './in-order.ts';
import type { Span } from './log-entries.ts';
import { eventIdAt } from './report.ts';
import { nullWhenFailed } from './service-log.ts';

/**
 * The first entry that differs from its event, if entries differ from the signed ones and bodies do
 * not show which: an event's proof has its leaf hash to the microsecond. Checks the entries of
 * `span`, or only the last, incomplete tile if there are too many; returns `span` if that shows
 * nothing.
 */
export async function narrowed(
  client: IndelibleClient,
  span: Span,
  file: EntryFile,
  { size }: Checkpoint,
): Promise<Span> {
  const isWide = span.to - span.from >= tileWidth;
  const from = isWide ? Math.max(span.from, size - (size % tileWidth)) : span.from;
  const fits = (n: number) => fitsProof(client, file, from + n);
  let sequence = from;
  for await (const fine of inOrder(Math.min(span.to, file.size - 1) - from + 1, 8, fits)) {
    if (!fine) return { from: sequence, to: sequence };
    sequence += 1;
  }
  return span;
}

async function fitsProof(
  client: IndelibleClient,
  file: EntryFile,
  sequence: number,
): Promise<boolean> {
  const id = eventIdAt(file, sequence);
  const leaf = leafHash(sha, file.at(sequence));
  if (id === null) return true;
  try {
    const proof = await client.log.proof(id).catch(nullWhenFailed);
    return proof === null || equalBytes(parseEventProof(proof).leafHash, leaf);
  } catch (error) {
    if (error instanceof FormatError) return true; // says nothing about this entry
    throw error;
  }
}
