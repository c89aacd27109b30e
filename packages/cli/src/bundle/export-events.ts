import type { BodyPage, IndelibleClient } from '@indelible/client';
import {
  type Checkpoint,
  FormatError,
  formatTimestamp,
  parseBodyLine,
  ServiceRecords,
  type WithholdableSegment,
  withholdSegments,
} from '@indelible/protocol';
import { LineSplitter } from '../import/line-splitter.ts';
import { sha } from '../verify/hashing.ts';
import { bodyLineBytesMax } from '../verify/log-bodies.ts';
import type { Progress } from '../verify/log-source.ts';
import { statedSequence } from '../verify/newer-events.ts';
import { logIdOf } from '../verify/service-log.ts';
import type { EventsDone, PartFolder } from './part-folder.ts';

interface EventsToWrite {
  checkpoint: Checkpoint;
  withheld: readonly WithholdableSegment[];
  progress: Progress;
}

/** Writes the events up to the checkpoint, a page at a time, from where the part folder has got to. */
export async function writeEvents(
  client: IndelibleClient,
  part: PartFolder,
  { checkpoint, withheld, progress }: EventsToWrite,
): Promise<void> {
  const { size } = checkpoint;
  progress.stage('events', size);
  progress.advance(part.done.events);
  if (part.done.next === null) return;
  for await (const page of client.log.bodies(logIdOf(checkpoint), part.done.next)) {
    const whole = [...linesOf(page, size)];
    const removals = whole.flatMap(removalsIn);
    const lines = whole.map((line) => shownLine(line, withheld));
    const bytes = Buffer.concat(lines.flatMap((line) => [line, lineFeed]));
    const { next, cutoffMs } = page;
    part.addEvents(bytes, { next, cutoffMs, events: lines.length, removals });
    progress.advance(lines.length);
  }
}

const lineFeed = Buffer.from('\n');

/** The line without what is withheld; a record of removals keeps its state, which alone explains them. */
function shownLine(line: Buffer, withheld: readonly WithholdableSegment[]): Buffer {
  const isRemoval = withheld.length > 0 && removalsIn(line).length > 0;
  const segments = isRemoval ? withheld.filter((name) => name !== 'state') : withheld;
  return segments.length === 0 ? line : Buffer.from(withholdSegments(sha, line, segments));
}

const removalMark = Buffer.from('"resource":{"type":"retention"');

/** What the line records as removed; nothing for any other, or a malformed one. */
function removalsIn(line: Buffer): EventsDone['removals'] {
  if (!line.includes(removalMark)) return [];
  const records = new ServiceRecords();
  try {
    records.take(parseBodyLine(line).event);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
  }
  return records.removals.map(({ sequence, cutoffMs, size }) => {
    return { sequence, cutoff: formatTimestamp(cutoffMs), size };
  });
}

/** Lines of events that the checkpoint reaches: the others are of a later bundle. */
function* linesOf({ bytes }: BodyPage, size: number): Generator<Buffer, void, undefined> {
  const splitter = new LineSplitter(bodyLineBytesMax);
  const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (const lines of [splitter.push(chunk), splitter.end()]) {
    for (const line of lines) if (!(statedSequence(line.bytes) >= size)) yield line.bytes;
  }
}
