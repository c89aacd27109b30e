import { closeSync, writeSync } from 'node:fs';
import type { IndelibleClient } from '@indelible/client';
import {
  type Checkpoint,
  changing,
  entryBytes,
  isCount,
  sizedCheckpoint,
  tileWidth,
} from '@indelible/protocol';
import { linesOf } from '../import/line-splitter.ts';
import { chunksOf } from '../kept-file.ts';
import type { Reading } from './entry-file.ts';
import { bodyLineBytesMax, LogBodies } from './log-bodies.ts';
import { entryTiles } from './log-entries.ts';
import type { TileSource } from './log-source.ts';
import { openUnnamed } from './record-file.ts';
import { nullWhenFailed } from './service-log.ts';

const member = Buffer.from('"sequence":');

/**
 * The sequence in a body line, without parsing the line: the service writes it after everything
 * that producers choose. NaN if it is not found.
 */
export function statedSequence(line: Uint8Array): number {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.length);
  const at = bytes.lastIndexOf(member);
  if (at < 0) return Number.NaN;
  const digits = bytes.toString('latin1', at + member.length, at + member.length + 16);
  return Number.parseInt(digits, 10);
}

const lineFeed = Buffer.from('\n');

/** The lines of events beyond a checkpoint of this size, in a temporary file. */
export class NewerLines {
  readonly #size: number;
  #fd: number | null = null;
  count = 0;

  constructor(size: number) {
    this.#size = size;
  }

  look(line: Uint8Array): void {
    // A line without a readable sequence is checked twice: harmless, and nothing is missed.
    if (statedSequence(line) < this.#size) return;
    this.#fd ??= openUnnamed();
    writeSync(this.#fd, line);
    writeSync(this.#fd, lineFeed);
    this.count += 1;
  }

  *lines(): Generator<Uint8Array, void, undefined> {
    if (this.#fd === null) return;
    for (const { bytes } of linesOf(chunksOf(this.#fd), bodyLineBytesMax)) yield bytes;
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

interface NewerWanted {
  client: IndelibleClient;
  source: TileSource;
  checkpoint: Checkpoint;
  lines: NewerLines;
  tenantId: string;
}

/**
 * Checks events recorded since the checkpoint, when its entries were read. No signature covers
 * them, but the served log must have as many entries as it states, and each event its entry. An
 * event inserted only into the table has none. Returns the log's current size.
 */
export async function judgeNewer(reading: Reading, wanted: NewerWanted): Promise<number> {
  const { file, findings, records } = reading;
  const { checkpoint, lines, tenantId } = wanted;
  const size = await headSize(wanted.client, checkpoint.size);
  await addEntries(reading, wanted.source, size);
  if (file.size < size) {
    const message = `The service says that its log has ${size} entries, and serves ${file.size}.`;
    findings.add('missing_entries', message, { sequence: file.size });
  }
  const reached = { ...checkpoint, size: file.size };
  const prefix = `Against ${sizedCheckpoint(reached)}: `;
  const renamed = changing(findings, (finding) => {
    const message = finding.message.replace(prefix, 'Recorded since the checkpoint: ');
    return { ...finding, message };
  });
  const bodies = new LogBodies(reading, { checkpoint: reached, tenantId }, renamed);
  // Without its end: missing bodies were checked up to the checkpoint.
  for (const line of lines.lines()) bodies.add(line);
  const { erasures } = records;
  bodies.requireExplained({ withheld: [], erasures }, 'events since the checkpoint');
  return file.size;
}

async function addEntries({ file, findings }: Reading, source: TileSource, size: number) {
  const first = Math.floor(file.size / tileWidth);
  let known = file.size - first * tileWidth;
  for await (const entries of entryTiles(source, size, findings, first)) {
    file.append(entries.subarray(known * entryBytes));
    known = 0;
  }
}

/**
 * The number of entries that the service states, at least `from`. Found by requesting proofs
 * between equal sizes, which need no hashes, until there are none.
 */
async function headSize(client: IndelibleClient, from: number): Promise<number> {
  const holds = statesSize(client);
  let [has, lacks] = [from, from + 1];
  // A service that states every size must not be asked for ever.
  for (let step = 1; isCount(lacks) && (await holds(lacks)); step *= 2)
    [has, lacks] = [lacks, lacks + 2 * step];
  return lastThatHolds(holds, has, lacks);
}

/** The largest size below `from` that the service states for its log. */
export async function headBelow(client: IndelibleClient, from: number): Promise<number> {
  return lastThatHolds(statesSize(client), 0, from);
}

const statesSize = (client: IndelibleClient) => async (size: number) =>
  (await client.log.consistency(size, size).catch(nullWhenFailed)) !== null;

async function lastThatHolds(
  holds: (size: number) => Promise<boolean>,
  from: number,
  to: number,
): Promise<number> {
  let [has, lacks] = [from, to];
  while (lacks - has > 1) {
    const middle = has + Math.floor((lacks - has) / 2);
    if (await holds(middle)) has = middle;
    else lacks = middle;
  }
  return has;
}
